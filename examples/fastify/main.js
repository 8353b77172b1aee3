// The gateway within a Fastify app. Without provider keys a fake provider responds.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { fastifyPlugin } from '@modelgate/fastify'
import { createFakeProvider } from '@modelgate/testing'
import Fastify from 'fastify'

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

const app = Fastify()
app.register(fastifyPlugin(gateway))
app.get('/', () => 'The app goes on as before.')

const address = await app.listen({ port: Number(PORT), host: '127.0.0.1' })
console.log(`${address}/v1 with the token ${wanted}`)
