// The gateway in Bun.serve. Without provider keys a fake provider responds.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { createFakeProvider } from '@modelgate/testing'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODELGATE_TOKEN, PORT = '3000' } = process.env
const isDemo = OPENAI_API_KEY === undefined && ANTHROPIC_API_KEY === undefined
if (isDemo) console.log('Demo: no provider key is set, so a fake provider responds.')
else if (OPENAI_API_KEY === undefined || ANTHROPIC_API_KEY === undefined)
  console.log('Only one provider key is set, so calls to the other provider fail.')
// The token 'demo-token' is public: only the demo accepts it.
const wanted = MODELGATE_TOKEN ?? (isDemo ? 'demo-token' : crypto.randomUUID())

const gateway = createGateway({
  auth: (token) => (token === wanted ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude', fast: { upstream: 'openai', model: 'gpt-5-mini' } },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})
const { match } = adapterFunctions(gateway)

const server = Bun.serve({
  port: Number(PORT),
  hostname: '127.0.0.1',
  idleTimeout: 60, // seconds; Bun's default of 10 would cut streams, whose heartbeats come every 14 seconds
  fetch(request) {
    const { pathname } = new URL(request.url)
    if (match(request.method, pathname) !== null) return gateway.fetch(request)
    return pathname === '/' ? new Response('The rest of your app.') : new Response('Not found', { status: 404 })
  },
})
console.log(`http://127.0.0.1:${server.port}/v1 with the token ${wanted}`)
