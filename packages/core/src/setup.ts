import { boundedTransport } from './bounded-transport.ts'
import { checkConfig, limitsOf, loggerOf } from './check-config.ts'
import type { GatewayConfig, Identity } from './config.ts'
import { createHealth, stillThere } from './health/health.ts'
import type { RequestBody } from './lanes/wire.ts'
import { lazily } from './lazily.ts'
import { pluginsOf, routesOf } from './plugins.ts'
import { createRouter } from './router.ts'
import { createMatcher, type Match, type Route, routes } from './routes.ts'
import { guardedStore } from './state/guarded-store.ts'
import type { Records } from './state/records.ts'
import { memoryResponseStore, type ResponseStore } from './state/store.ts'
import type { Shared } from './targets.ts'
import type { Transport } from './transport.ts'
import { fetchTransport } from './web/fetch-transport.ts'

/** Everything that is made of one configuration. It is exchanged whole: a call ends under the one it began with. */
export interface Setup {
  readonly config: GatewayConfig
  readonly shared: Shared
  readonly routes: readonly Route[]
  /** Kept for the configurations that follow, as long as they bring none of their own. */
  readonly ownStore: ResponseStore
  readonly keepsResponses: boolean
  /** In place of the adapter's. */
  readonly transport: Transport | undefined
  match(method: string, path: string): Match | null
  recordsOf(identity: Identity | null): Promise<Records>
  /** What a request refers to, in its place. */
  remembered(route: Route, request: RequestBody, identity: Identity | null): Promise<RequestBody>
}

/** What keeps answers for later calls. */
export const memory = lazily(() => import('./operations/responses/index.ts'))

/**
 * @param before what is replaced: what it knows that is still good is taken over, and it stays as it was for its own calls
 * @throws TypeError for a configuration that cannot be, with what to write instead
 */
export function createSetup(config: GatewayConfig, before?: Setup): Setup {
  checkConfig(config)
  const { basePath = '', responses = {} } = config
  const limits = limitsOf(config.limits)
  const logger = loggerOf(config.logger)
  const shared: Shared = {
    router: createRouter(config),
    health: createHealth(
      config.breaker,
      config.health,
      before && stillThere(before.shared.health, before.config.upstreams, config.upstreams),
      logger,
    ),
    onLoss: config.onLoss ?? 'warn',
    plugins: pluginsOf(config),
    limits,
    logger,
    openSpool: config.spool,
    media: config.media,
  }
  const table = Object.freeze([...routes, ...routesOf(shared.plugins)])
  const matchPath = createMatcher(table)
  const ownStore = before?.ownStore ?? memoryResponseStore()
  const { ttlMs = keptMs } = responses
  const store = responses.store ? guardedStore(responses.store, limits.callbackMs) : (responses.store ?? ownStore)
  const recordsOf: Setup['recordsOf'] = async (identity) =>
    (await memory()).createRecords(store === false || isNameless(identity) ? undefined : store, ttlMs, identity)
  return {
    config,
    shared,
    routes: table,
    ownStore,
    keepsResponses: store !== false,
    transport: config.fetch === undefined ? undefined : boundedTransport(fetchTransport(config.fetch)),
    match(method, path) {
      if (basePath === '') return matchPath(method, path)
      // The mount itself, without its slash.
      if (path === basePath) return matchPath(method, '/')
      return path.startsWith(`${basePath}/`) ? matchPath(method, path.slice(basePath.length)) : null
    },
    recordsOf,
    async remembered({ refers }, request, identity) {
      return refers === true
        ? (await (await memory()).recall(request, await recordsOf(identity), shared.limits.bodyBytes)).request
        : request
    },
  }
}

const keptMs = 24 * 60 * 60 * 1000

/** Callers that cannot be told apart must not find each other's things. */
const isNameless = (identity: Identity | null): boolean => identity !== null && !identity.id
