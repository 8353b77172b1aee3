import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'
import { tokensInFolder, tokensInMemory, tokensInRedis } from './with-tokens.js'

const env = Deno.env.toObject()
const { fetch } = createSite(settingFrom(env), async (what) => {
  if (what === 'tokens-memory') return tokensInMemory()
  if (what === 'tokens-folder') return tokensInFolder(env.FOLDER ?? '')
  if (what === 'tokens-redis') return tokensInRedis(env.REDIS ?? '')
  if (what === 'hono') return import.meta.resolve('@modelgate/hono')
  return null
})

Deno.serve(
  {
    port: 0,
    hostname: '127.0.0.1',
    onListen: ({ port }) => console.log(`deno ${Deno.version.deno} listens on http://127.0.0.1:${port}`),
  },
  fetch,
)
