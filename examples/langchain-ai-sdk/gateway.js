// A gateway on its own port, for langchain.js and ai-sdk.js. Without provider keys a fake provider responds.
import http from 'node:http'
import { anthropic, createGateway, gemini, openai } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { createFakeProvider } from '@modelgate/testing'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, MODELGATE_TOKEN = 'demo-token', PORT = '3000' } = process.env
const keys = [OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY]
const isDemo = keys.every((key) => key === undefined)
if (isDemo) console.log('Demo: no provider key is set, so a fake provider responds.')
else if (keys.includes(undefined)) console.log('Some provider keys are not set, so calls to these providers fail.')
if (!isDemo && process.env.MODELGATE_TOKEN === undefined)
  throw new Error("Set MODELGATE_TOKEN. The default token 'demo-token' is public, so only the demo accepts it.")

const gateway = createGateway({
  auth: (token) => (token === MODELGATE_TOKEN ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
    google: gemini({ apiKey: GEMINI_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude', 'gemini-*': 'google' },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})

const server = http.createServer(nodeListener(gateway)).listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object')
    console.log(`http://127.0.0.1:${address.port}/v1 with the token ${MODELGATE_TOKEN}`)
})
