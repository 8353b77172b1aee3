// The gateway within a Hono app. Without provider keys a fake provider responds.
import { serve } from '@hono/node-server'
import { anthropic, createGateway, openai } from '@modelgate/core'
import { honoMiddleware } from '@modelgate/hono'
import { createFakeProvider } from '@modelgate/testing'
import { Hono } from 'hono'

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

const app = new Hono()
app.use(honoMiddleware(gateway))
app.get('/', (c) => c.text('The app goes on as before.'))

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}/v1 with the token ${wanted}`)
})
