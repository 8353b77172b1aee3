import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'
import { moreWith } from './with-tokens.js'

const { fetch } = createSite(settingFrom(process.env), moreWith(process.env))

// Left to itself Bun ends a connection that was silent for 10 seconds; the gateway's heartbeats come every 14.
const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch })
console.log(`bun ${Bun.version} listens on ${server.url.origin}`)
