import type { GatewayContext } from '../calls/call.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import { limitsOf } from '../config/limits.ts'
import { referencePolicy } from '../config/references.ts'
import type { ResponseStore } from '../config/response-store.ts'
import type { ReferenceScheme } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { boundedTransport } from '../http/bounded-transport.ts'
import { fetchTransport } from '../http/fetch-transport.ts'
import type { Transport } from '../http/transport.ts'
import type { HandlerConfig } from '../operations/handler.ts'
import { mayReferToStoredObjects, referenceSchemeOf } from '../operations/references/notice.ts'
import { guardedStore, loadResponseStore, memoryResponseStore } from '../operations/responses/store.ts'
import { createMatcher, type Route, type RouteMatch, routes } from '../operations/routes.ts'
import { createHealth, stillThere } from '../routing/health/health.ts'
import { createOverloadMemory } from '../routing/health/overload-memory.ts'
import { createRouter } from '../routing/router.ts'
import { pluginRoutes, resolvePlugins } from './plugin-list.ts'
import { checkConfig, loggerOf } from './validate-config.ts'

/** Everything that is made of one configuration. It is exchanged whole: a call ends under the one it began with. */
export interface ConfigSnapshot extends HandlerConfig {
  readonly routes: readonly Route[]
  /** Kept for the configurations that follow, as long as they bring none of their own. */
  readonly ownStore: ResponseStore
  /** Nobody chose the memory of this process for it. */
  readonly keepsInMemory: boolean
  /** In place of the adapter's. */
  readonly transport: Transport | undefined
  match(method: string, path: string): RouteMatch | null
}

/**
 * @param before what is replaced: what it knows that is still good is taken over, and it stays as it was for its own calls
 * @throws TypeError for a configuration that cannot be, with what to write instead
 */
export function createSnapshot(config: GatewayConfig, before?: ConfigSnapshot): ConfigSnapshot {
  checkConfig(config)
  const { basePath = '', responses = {} } = config
  const limits = limitsOf(config.limits)
  const logger = loggerOf(config.logger)
  const ownStore = before?.ownStore ?? memoryResponseStore()
  const { ttlMs = defaultTtlMs } = responses
  // Callers without authentication keep nothing, unless the host says where.
  const defaultStore = config.auth === 'none' ? false : ownStore
  const store = responses.store ? guardedStore(responses.store, limits.callbackMs) : (responses.store ?? defaultStore)
  const recordsOf: ConfigSnapshot['recordsOf'] = async (identity) =>
    (await loadResponseStore()).createCallerRecords(
      store === false || isNameless(identity) ? undefined : store,
      ttlMs,
      identity,
    )
  const references = referencePolicy(config.references)
  const shared: GatewayContext = {
    router: createRouter(config),
    health: createHealth(
      config.breaker,
      config.health,
      before && stillThere(before.shared.health, before.config.upstreams, config.upstreams),
      logger,
    ),
    overloads: before?.shared.overloads ?? createOverloadMemory(),
    onLoss: config.onLoss ?? 'warn',
    plugins: resolvePlugins(config),
    limits,
    logger,
    openSpool: config.spool,
    media: config.media,
    references,
    claim:
      store === false ? undefined : async (identity, received) => (await recordsOf(identity)).saveReceivedIds(received),
  }
  const checkNoticed = async (scheme: ReferenceScheme, request: RequestBody, identity: Identity | null) =>
    (await loadResponseStore()).checkReferences(scheme, request, await recordsOf(identity), references)
  const table = Object.freeze([...routes, ...pluginRoutes(shared.plugins)])
  const matchPath = createMatcher(table)
  return {
    config,
    shared,
    routes: table,
    ownStore,
    keepsResponses: store !== false,
    keepsInMemory: store === ownStore,
    transport: configuredTransport(config),
    match(method, path) {
      if (basePath === '') return matchPath(method, path)
      // The mount itself, without its slash.
      if (path === basePath) return matchPath(method, '/')
      return path.startsWith(`${basePath}/`) ? matchPath(method, path.slice(basePath.length)) : null
    },
    recordsOf,
    checkReferences(route, request, identity) {
      const scheme = referenceSchemeOf(route)
      if (scheme === undefined || !mayReferToStoredObjects(scheme, request)) return undefined
      return checkNoticed(scheme, request, identity)
    },
    async resolveReferences(route, request, identity) {
      if (route.usesStoredResponses !== true) {
        await this.checkReferences(route, request, identity)
        return request
      }
      const store = await loadResponseStore()
      const { bodyBytes } = shared.limits
      return (await store.resolveReferences(route.format, request, await recordsOf(identity), references, bodyBytes))
        .request
    },
  }
}

const warned = new WeakSet<object>()

/** Warns, once for each logger, that the default store of responses is no lasting one. */
export function warnOfMemory({ keepsInMemory, config, shared }: ConfigSnapshot): void {
  const { logger = console } = config
  if (!keepsInMemory || logger === false || warned.has(logger)) return
  warned.add(logger)
  shared.logger.warn(
    'modelgate: stored responses, and the record of which references belong to whom, are kept in the memory of this process and end with it. Set responses.store to a store of yours, to memoryResponseStore() to accept that, or to false to keep nothing.',
  )
}

const defaultTtlMs = 24 * 60 * 60 * 1000

function configuredTransport({ fetch, transport }: GatewayConfig): Transport | undefined {
  if (transport !== undefined) return boundedTransport(transport)
  return fetch === undefined ? undefined : boundedTransport(fetchTransport(fetch))
}

/** Callers that cannot be told apart must not find each other's things. */
const isNameless = (identity: Identity | null): boolean =>
  identity !== null && (typeof identity.id !== 'string' || identity.id === '')
