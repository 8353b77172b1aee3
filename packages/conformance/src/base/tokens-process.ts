// A gateway in its own process with tokens in a shared Redis. Bundled and run by tokens-redis.test.ts.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGateway, openai } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { createPrices, createTokens, fileLedger, redisStorage } from '@modelgate/tokens'
import { createClient } from 'redis'

const { REDIS_URL = '', UPSTREAM_URL = '', LEDGER = '', PREFIX = '', PRICES = '{}' } = process.env

const client = createClient({ url: REDIS_URL })
client.on('error', () => {})
await client.connect()
const tokens = createTokens({
  // A long timeout: the test counts calls, and Redis may be slow on a busy machine.
  storage: redisStorage({ client, prefix: PREFIX, timeoutMs: 2000 }),
  prices: createPrices(JSON.parse(PRICES)),
  ledger: fileLedger({ folder: LEDGER }),
})
const gateway = createGateway({
  auth: tokens.authenticate,
  upstreams: { up: openai({ apiKey: 'any', baseURL: UPSTREAM_URL, formats: ['chat'] }) },
  models: { '*': 'up' },
  retry: false,
  breaker: false,
})
const server = createServer(nodeListener(gateway)).listen(0, '127.0.0.1', () => {
  process.send?.({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
})
process.once('message', async () => {
  server.close()
  server.closeIdleConnections()
  await gateway.close()
  await tokens.close()
  await client.close()
  process.exit(0)
})
