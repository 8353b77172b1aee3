// The gateway within an Express app. Without provider keys a fake provider responds.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { createFakeProvider } from '@modelgate/testing'
import express from 'express'

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

const app = express()
app.use(expressMiddleware(gateway))
app.get('/', (_req, res) => {
  res.send('The app goes on as before.')
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/v1 with the token ${wanted}`)
})
