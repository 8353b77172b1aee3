import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'
import { moreWith } from './with-tokens.js'

const { fetch } = createSite(settingFrom(process.env), moreWith(process.env))

// Bun's default closes a connection after 10 seconds of silence; the gateway's heartbeats come every 14 seconds.
const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch })
console.log(`bun ${Bun.version} listens on ${server.url.origin}`)
