import { pages, version } from 'virtual:console-assets'
import { GatewayError, type Inbound, type Plugin, type PluginHost, type PluginRoute } from '@modelgate/core'
import { createCallBook } from './calls.ts'
import { explainCall } from './explain.ts'
import { endpointsOf, type Info } from './info.ts'
import { assetReply, dataReply, pageReply } from './replies.ts'

/** Options of the console pages. */
export interface ConsoleOptions {
  /** Serves the Playground and its endpoint `POST /console/explain`. Default: true. */
  playground?: boolean
  /**
   * Shows every holder of a token how the gateway handles a call: the upstream request, and the names of upstreams and their
   * models. Default: true.
   */
  explain?: boolean
}

const explainPath = '/console/explain'

/**
 * Creates a plugin with the gateway's home page and its Playground: `createGateway({ …, plugins: [consolePages()] })`. The pages
 * are served at `/` and `/console/playground` below the gateway's mount path. They hold no secrets and need no login; the
 * Playground calls the gateway with the token that its user pastes. One plugin serves one gateway.
 */
export function consolePages({ playground = true, explain = true }: ConsoleOptions = {}): Plugin {
  const calls = createCallBook({ named: explain })
  let gateway: PluginHost | undefined
  const started = (): PluginHost => {
    if (gateway === undefined) throw new GatewayError('unavailable', 'The gateway has not started yet; try again.')
    return gateway
  }

  const routes: PluginRoute[] = [
    { method: 'GET', path: '/', handle: (inbound) => pageReply(pages.home, inbound) },
    {
      method: 'GET',
      path: '/console/assets/{file}',
      handle(_inbound, { file = '' }) {
        const reply = assetReply(file)
        if (reply === undefined)
          throw new GatewayError('not_found', `There is no console asset '${file.slice(0, 100)}': reload the page.`)
        return reply
      },
    },
    {
      method: 'GET',
      path: '/console/info.json',
      handle: () =>
        dataReply({
          name: 'modelgate',
          version,
          healthy: true,
          playground,
          explain: playground && explain,
          endpoints: endpointsOf(started()),
        } satisfies Info),
    },
  ]
  if (playground)
    routes.push(
      { method: 'GET', path: '/console/playground', handle: playgroundReply },
      {
        method: 'GET',
        path: '/console/calls/{id}',
        handle(_inbound, { id = '' }) {
          const facts = calls.read(id)
          if (facts !== undefined) return dataReply(facts)
          throw new GatewayError('not_found', 'Nothing is known of this call: it is not over, or too long ago.', {
            headers: { 'cache-control': 'no-store' },
          })
        },
      },
    )
  if (playground && explain)
    routes.push({
      method: 'POST',
      path: explainPath,
      handle: async (inbound) => dataReply(await explainCall(started(), inbound, mountOf(inbound))),
    })

  return {
    name: 'console',
    onStart(startedGateway) {
      gateway = startedGateway
    },
    routes,
    ...(playground ? { onFinish: calls.write } : {}),
  }
}

/** The page's addresses are relative, so a trailing slash would break them. */
const playgroundReply: PluginRoute['handle'] = (inbound) =>
  inbound.path.endsWith('/')
    ? { status: 308, headers: { location: '../playground', 'cache-control': 'no-cache' }, body: null }
    : pageReply(pages.playground, inbound)

/** Returns the path before the gateway's own paths: its `basePath`, unless the host has already removed it. */
const mountOf = ({ path }: Inbound): string => path.replace(/\/$/, '').slice(0, -explainPath.length)
