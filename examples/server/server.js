// The server that `npm start` runs. Settings by environment:
//   PORT (8787)  HOST (127.0.0.1)  MODELGATE_TOKEN (else one is made and printed)
//   MODELGATE_DATA (a folder: tokens are issued into it, see tokens.js)  MODELGATE_PRICES (a JSON file)  MODELGATE_LEDGER (a folder)
//   OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, and for each …_BASE_URL; without any key a demo answers
import http from 'node:http'
import { consolePages } from '@modelgate/console'
import { createGateway } from '@modelgate/core'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { banner } from './banner.js'
import { readConfig } from './config.js'
import { drain } from './drain.js'

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(`modelgate: ${message}`)
  process.exit(1)
}

const config = await readConfig(process.env).catch((error) => fail(error.message))
const { host, port, auth, tokens, upstreams, models } = config
const gateway = createGateway({ auth, upstreams, models, plugins: [tokens.plugin, consolePages()] })

const server = http.createServer(nodeListener(gateway))
server.on('upgrade', nodeUpgrade(gateway))

function listeningPort() {
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : port
}

server.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
  if (error.code === 'EADDRINUSE') fail(`port ${port} on ${host} is in use: stop what uses it, or set PORT to another`)
  if (error.code === 'EACCES') fail(`port ${port} may not be used by this user: set PORT to one above 1023`)
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    fail(`HOST is '${host}', which is no address of this machine: 127.0.0.1 is this machine only, 0.0.0.0 is everyone`)
  fail(`cannot listen on ${host}:${port}: ${error.message}`)
})
server.listen(port, host, () => console.log(banner(config, listeningPort())))

/** When the first signal came. A terminal's Ctrl-C can reach a process twice at once: from the terminal, and from npm. */
let since = 0
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT']))
  process.on(signal, () => {
    if (since > 0) {
      if (performance.now() - since > 500) process.exit(1)
      return
    }
    since = performance.now()
    console.log(`${signal}: answering the running calls to their end; once more stops at once`)
    drain(server, gateway)
      .then(() => config.close())
      .then(() => process.exit(0))
  })
