import http from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'
import { moreWith } from './with-tokens.js'

const { plain, others, app } = createSite(settingFrom(process.env), moreWith(process.env))

/** @type {Record<string, http.RequestListener>} */
const listeners = { host: getRequestListener(app.fetch) }
for (const [name, gateway] of Object.entries(others)) listeners[name] = nodeListener(gateway)
const listener = nodeListener(plain)

const server = http.createServer((request, response) => {
  const [, first = ''] = (request.url ?? '').split('/')
  return (listeners[first] ?? listener)(request, response)
})
server.on('upgrade', nodeUpgrade(plain))
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(`node ${process.versions.node} listens on http://127.0.0.1:${port}`)
})
