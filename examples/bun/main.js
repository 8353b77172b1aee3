// The gateway in Bun.serve. Without provider keys a fake provider responds.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { createFakeProvider } from '@modelgate/testing'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODELGATE_TOKEN, PORT = '3000' } = process.env
const hasKeys = OPENAI_API_KEY !== undefined || ANTHROPIC_API_KEY !== undefined
// This public token is accepted only with the fake provider.
const wanted = MODELGATE_TOKEN ?? (hasKeys ? crypto.randomUUID() : 'demo-token')

const gateway = createGateway({
  auth: (token) => (token === wanted ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude', fast: { upstream: 'openai', model: 'gpt-5-mini' } },
  ...(hasKeys ? {} : { fetch: createFakeProvider().fetch }),
})
const { match } = adapterFunctions(gateway)

const server = Bun.serve({
  port: Number(PORT),
  hostname: '127.0.0.1',
  idleTimeout: 60, // seconds; Bun's default of 10 would cut streams, whose heartbeats come every 14 seconds
  fetch(request) {
    const { pathname } = new URL(request.url)
    if (match(request.method, pathname) !== null) return gateway.fetch(request)
    return pathname === '/' ? new Response('The app goes on as before.') : new Response('Not found', { status: 404 })
  },
})
console.log(`http://127.0.0.1:${server.port}/v1 with the token ${wanted}`)
