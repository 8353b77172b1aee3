import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'
import { moreWith } from './with-tokens.js'

const env = Deno.env.toObject()
const { fetch } = createSite(settingFrom(env), moreWith(env))

Deno.serve(
  {
    port: 0,
    hostname: '127.0.0.1',
    onListen: ({ port }) => console.log(`deno ${Deno.version.deno} listens on http://127.0.0.1:${port}`),
  },
  fetch,
)
