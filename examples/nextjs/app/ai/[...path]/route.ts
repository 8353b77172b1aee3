import { gateway } from '../../../lib/gateway'

// The gateway needs nothing of Node, so 'edge' works too; Next.js itself advises against it by now.
export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'
export const maxDuration = 300 // seconds that Vercel gives an answer, streams included

const answer = (request: Request) => gateway.fetch(request)

export { answer as DELETE, answer as GET, answer as POST }
