// Servers of the rows with sockets, each started on first use.
import { startNginx } from './nginx.js'
import { portkeyHeaders, startPortkey } from './peers.js'
import { loadCpu, proxyCpu } from './placement.js'
import { startChild, startServer } from './process.js'

/** @typedef {import('./process.js').Server} Server */
/** @typedef {import('./cases.js').GatewayMode | import('./cases.js').Framework | import('./cases.js').Bare} ServerName */
/** @typedef {import('./load.js').Result} Result */
/** @typedef {Awaited<ReturnType<typeof startServers>>} Servers */

/** @param {ServerName} name @param {string} upstream @returns {[file: string, args: string[]]} */
function commandOf(name, upstream) {
  if (name === 'gateway') return ['./gateway-proxy.js', [upstream]]
  if (name.startsWith('gateway-')) return ['./gateway-proxy.js', [upstream, name.slice('gateway-'.length)]]
  if (name === 'bare') return ['./bare-proxy.js', [upstream]]
  if (name === 'bare-parse') return ['./bare-proxy.js', [upstream, 'parse']]
  const [framework = '', mode = 'gateway'] = name.split('-')
  return ['./framework-proxy.js', [upstream, framework, mode]]
}

/**
 * @param {string} upstreamFile @param {{ args?: string[] }} [options] `args`: arguments of the
 * upstream
 */
export async function startServers(upstreamFile, { args = [] } = {}) {
  const upstream = await startServer(upstreamFile, { args, pin: loadCpu })
  const address = `http://127.0.0.1:${upstream.port}`
  /** @type {ReturnType<typeof startChild>[]} */
  const loads = []
  const startLoad = (/** @type {string} */ file) => {
    const load = startChild(file, { pin: loadCpu })
    loads.push(load)
    return load
  }
  /** @type {Map<ServerName, Promise<Server>>} */
  const started = new Map()
  /** @type {ReturnType<typeof startPortkey> | undefined} */
  let portkey
  /** @type {ReturnType<typeof startNginx> | undefined} */
  let nginx

  /** @param {ServerName} name */
  const serverOf = (name) => {
    let server = started.get(name)
    if (server === undefined) {
      const [file, args] = commandOf(name, address)
      server = startServer(file, { args, pin: proxyCpu })
      started.set(name, server)
    }
    return server
  }
  return {
    serverOf,
    upstream,
    load: startLoad('./load.js'),
    startLoad,
    /** @param {string} provider @param {string} under */
    async portkeyFor(provider, under) {
      portkey ??= startPortkey(proxyCpu)
      const running = await portkey
      return running && { port: running.port, headers: portkeyHeaders(provider, address + under) }
    },
    /** @returns {Promise<number | undefined>} the port of nginx */
    async nginxPort() {
      nginx ??= startNginx(address, proxyCpu)
      return (await nginx)?.port
    },
    async stop() {
      const servers = await Promise.allSettled(started.values())
      const running = servers.flatMap((server) => (server.status === 'fulfilled' ? [server.value] : []))
      await Promise.all([...running, upstream, ...loads].map(({ stop }) => stop()))
      await (await portkey)?.stop()
      await (await nginx)?.stop()
    },
  }
}
