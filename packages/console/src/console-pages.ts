import { homepage, pages, version } from 'virtual:console-assets'
import { GatewayError, type Inbound, type Plugin, type PluginHost, type PluginRoute } from '@modelgate/core'
import { createCallBook } from './calls.ts'
import { explainCall } from './explain.ts'
import { endpointsOf, type Info } from './info.ts'
import { describeModels } from './models.ts'
import type { ConsolePeers } from './recent-calls/peers.ts'
import { createRecentCalls, type RecentCallsOptions } from './recent-calls/recent-calls.ts'
import { assetReply, dataReply, pageReply, subpage } from './replies.ts'
import { createUsageRoutes } from './usage/usage-routes.ts'
import type { UsageOptions } from './usage/usage-tokens.ts'

/** Options of the console pages. */
export interface ConsoleOptions {
  /** Serves the Playground and its endpoint `POST /console/explain`. Default: true. */
  playground?: boolean
  /**
   * Shows every holder of a token how the gateway handles a call: the upstream request, and the names of upstreams and their
   * models. Default: true.
   */
  explain?: boolean
  /**
   * Address of the documentation that the home page links to: `https://…`, or a path of the same host such as `/docs`. Default: `homepage` in
   * the package.json of this package; without one, the page has no such link.
   */
  documentation?: string
  /**
   * Serves the page `/console/calls` and the API `/console/api/calls` with the last calls of all callers. They never contain credentials, and
   * content only with `capture`. Default: neither exists.
   */
  recentCalls?: RecentCallsOptions
  /**
   * Serves the pages `/console/usage` and `/console/tokens`, and the APIs `/console/api/usage` and `/console/api/tokens`: the usage of all tokens,
   * and the endpoints to manage them. Default: none exists.
   */
  usage?: UsageOptions
  /** Other processes that serve the same gateway. Default: the pages show the calls of this process. */
  peers?: ConsolePeers
}

/** The form of the gateway's ids of calls. */
const callId = /^req_\w{8,64}$/
const explainPath = '/console/explain'
const modelsPath = '/console/models.json'

/**
 * Creates a plugin with the gateway's home page and its Playground: `createGateway({ …, plugins: [consolePages()] })`. The pages
 * are served at `/` and `/console/playground` below the gateway's mount path. They hold no secrets and need no login; the
 * Playground calls the gateway with the token that its user pastes. One plugin serves one gateway.
 *
 * @throws TypeError for an invalid `documentation`, `recentCalls` or `usage`
 */
export function consolePages({
  playground = true,
  explain = true,
  documentation = homepage,
  recentCalls,
  usage,
  peers,
}: ConsoleOptions = {}): Plugin {
  checkDocumentation(documentation)
  const recent = recentCalls === undefined ? undefined : createRecentCalls(recentCalls, peers)
  const calls = createCallBook({ named: explain })
  if (recent !== undefined) peers?.subscribe(recent.receive)
  peers?.provide({ facts: calls.read, bodies: (requestId) => recent?.bodiesOf(requestId) })
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
          readiness: started().routes.some(({ method, path }) => method === 'GET' && path === '/readyz'),
          requiresToken: started().requiresCredential,
          calls: recent !== undefined,
          usage: usage !== undefined,
          ...(documentation === undefined ? {} : { documentation }),
          endpoints: endpointsOf(started()),
        } satisfies Info),
    },
  ]
  // Before `/console/calls/{id}`.
  if (recent !== undefined) routes.push(...recent.routes)
  if (usage !== undefined) routes.push(...createUsageRoutes(usage))
  if (playground)
    routes.push(
      { method: 'GET', path: '/console/playground', handle: subpage(pages.playground, 'playground') },
      {
        method: 'GET',
        path: modelsPath,
        handle: (inbound) => describeModels(started(), inbound, mountOf(inbound, modelsPath)),
      },
      {
        method: 'GET',
        path: '/console/calls/{id}',
        async handle(_inbound, { id = '' }) {
          // Anyone may ask, so that only what can be an id is passed on.
          const facts = calls.read(id) ?? (callId.test(id) ? await peers?.findFacts(id) : undefined)
          if (facts !== undefined) return dataReply(facts)
          throw new GatewayError('not_found', 'Call not found: it is still running, or is no longer stored.', {
            headers: { 'cache-control': 'no-store' },
          })
        },
      },
    )
  if (playground && explain)
    routes.push({
      method: 'POST',
      path: explainPath,
      handle: async (inbound) => dataReply(await explainCall(started(), inbound, mountOf(inbound, explainPath))),
    })

  return {
    name: 'console',
    onStart(startedGateway) {
      gateway = startedGateway
    },
    routes,
    ...onFinishOf(playground ? calls.write : undefined, recent?.onFinish),
    ...(recent === undefined ? {} : hooksOf(recent)),
  }
}

const hooksOf = ({ onNotice, onBodies, bodyLimits }: Omit<Plugin, 'name'>): Omit<Plugin, 'name'> => ({
  ...(onNotice === undefined ? {} : { onNotice }),
  ...(onBodies === undefined ? {} : { onBodies }),
  ...(bodyLimits === undefined ? {} : { bodyLimits }),
})

/** Combines the hooks of the two records of calls; without one, the gateway calls nothing. */
function onFinishOf(...hooks: readonly Plugin['onFinish'][]): Pick<Plugin, 'onFinish'> {
  const set = hooks.filter((hook) => hook !== undefined)
  const [first, second] = set
  if (first === undefined) return {}
  if (second === undefined) return { onFinish: first }
  return {
    onFinish(event) {
      first(event)
      second(event)
    },
  }
}

/** Returns the path before the gateway's own paths: its `basePath`, unless the host has already removed it. */
const mountOf = ({ path }: Inbound, route: string): string => path.replace(/\/$/, '').slice(0, -route.length)

/** A link must not run a script, and `//host` would be the address of another host. */
function checkDocumentation(address: string | undefined): void {
  if (address === undefined || /^(?:https?:\/\/[^\s/]|\/(?![/\\]))/.test(address)) return
  throw new TypeError(
    `consolePages: documentation is ${JSON.stringify(address)}. Use an address such as https://docs.example.com, or a path such as /docs.`,
  )
}
