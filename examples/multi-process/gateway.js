// One of several gateway processes. Without provider keys a fake provider responds.
import http from 'node:http'
import { anthropic, createGateway, openai } from '@modelgate/core'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { drain } from '@modelgate/node/adapter'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, redisStorage } from '@modelgate/tokens'
import { createClient } from 'redis'
import { sharedHealth, sharedResponses } from './shared.js'

const { PORT = '8791', REDIS_URL = 'redis://127.0.0.1:6379', ...env } = process.env
const isDemo = env.OPENAI_API_KEY === undefined && env.ANTHROPIC_API_KEY === undefined
if (isDemo) console.log('Demo: no provider key is set, so a fake provider responds.')
else if (env.OPENAI_API_KEY === undefined || env.ANTHROPIC_API_KEY === undefined)
  console.log('Only one provider key is set, so calls to the other provider fail.')

const redis = createClient({ url: REDIS_URL })
redis.on('error', (error) => console.error('redis:', error.message))
await redis.connect()

const tokens = createTokens({ storage: redisStorage({ client: redis }) })
const gateway = createGateway({
  auth: tokens.authenticate,
  upstreams: {
    openai: openai({
      apiKey: env.OPENAI_API_KEY ?? 'no key',
      baseURL: env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
    }),
    claude: anthropic({
      apiKey: env.ANTHROPIC_API_KEY ?? 'no key',
      baseURL: env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com',
    }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude' },
  health: await sharedHealth(redis),
  responses: { store: sharedResponses(redis) },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})

const calls = nodeListener(gateway)
const server = http.createServer((req, res) => {
  if (req.url === '/healthz') res.end('ok')
  else calls(req, res)
})
server.on('upgrade', nodeUpgrade(gateway))
server.listen(Number(PORT), '127.0.0.1', () => console.log(`gateway ${process.pid} on port ${PORT}`))

// Ctrl-C in a terminal reaches all processes at once; start.js decides when this one ends.
process.on('SIGINT', () => {})
process.once('SIGTERM', async () => {
  await drain(server, gateway, 25_000) // accepts no new connections, which nginx sends to the others; completes in-flight calls
  await tokens.close()
  process.exit(0)
})
