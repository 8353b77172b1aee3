// Issues a token: `npm run token -- laptop`
import { createTokens, redisStorage } from '@modelgate/tokens'
import { createClient } from 'redis'

const client = createClient({ url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
await client.connect()
const tokens = createTokens({ storage: redisStorage({ client }) })
const { secret } = await tokens.issue({
  name: process.argv[2] ?? 'token',
  limits: { requests: 60, concurrent: 8 },
  budget: { tokens: 1_000_000, period: 'month' },
})
console.log(secret)
await tokens.close()
await client.close()
