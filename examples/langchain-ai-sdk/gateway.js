// A gateway on its own port, for langchain.js and ai-sdk.js. Without provider keys a fake provider responds.
import http from 'node:http'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { createFakeProvider } from '@modelgate/testing'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, MODELGATE_TOKEN = 'demo-token', PORT = '3000' } = process.env
const hasKeys = [OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY].some((key) => key !== undefined)
if (hasKeys && process.env.MODELGATE_TOKEN === undefined)
  throw new Error('Set MODELGATE_TOKEN: the token that everybody can read here is good for the fake provider alone.')

const gateway = createGateway({
  auth: (token) => (token === MODELGATE_TOKEN ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
    google: gemini({ apiKey: GEMINI_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude', 'gemini-*': 'google' },
  ...(hasKeys ? {} : { fetch: createFakeProvider().fetch }),
})

const server = http.createServer(nodeListener(gateway)).listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    console.log(`http://127.0.0.1:${address.port}/v1 with the token ${MODELGATE_TOKEN}`)
})
