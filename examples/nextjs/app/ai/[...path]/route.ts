import { gateway } from '../../../lib/gateway'

// The gateway needs no Node API, so 'edge' works too, but Next.js advises against it.
export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'
export const maxDuration = 300 // maximum seconds of a response on Vercel, streams included

const handle = (request: Request) => gateway.fetch(request)

export { handle as DELETE, handle as GET, handle as POST }
