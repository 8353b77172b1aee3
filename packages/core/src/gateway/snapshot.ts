import type { GatewayContext } from '../calls/call.ts'
import type { Authenticate, GatewayConfig } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import { resolveLimits } from '../config/limits.ts'
import type { Plugin } from '../config/plugin.ts'
import { resolveReferences } from '../config/references.ts'
import type { ResponseStore } from '../config/stores.ts'
import { fetchTransport } from '../http/fetch-transport.ts'
import type { Transport } from '../http/transport.ts'
import { boundedTransport } from '../http/transport.ts'
import { noticedScheme } from '../operations/references/notice.ts'
import { guardedStore, loadResponseStore, memoryResponseStore } from '../operations/responses/store.ts'
import type { HandlerConfig, Route, RouteMatch } from '../operations/route.ts'
import { createMatcher, defaultErrorFormat, routes } from '../operations/routes.ts'
import { createOverloadMemory } from '../routing/health/cooldowns.ts'
import { createHealth, unchangedUpstreams } from '../routing/health/health.ts'
import { createRouter } from '../routing/router.ts'
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
  const limits = resolveLimits(config.limits)
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
  const references = resolveReferences(config.references)
  const shared: GatewayContext = {
    router: createRouter(config),
    health: createHealth(
      config.breaker,
      config.health,
      before && unchangedUpstreams(before.shared.health, before.config.upstreams, config.upstreams),
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
    async checkReferences(scheme, request, identity) {
      const store = await loadResponseStore()
      await store.checkReferences(scheme, request, await recordsOf(identity), references)
    },
    async resolveReferences(route, request, identity) {
      if (route.usesStoredResponses !== true) {
        const scheme = noticedScheme(route, request)
        if (scheme !== undefined) await this.checkReferences(scheme, request, identity)
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

/** A gateway's plugins: what belongs to `auth` first, none twice. Throws a TypeError for what is none. */
export function resolvePlugins({ auth, plugins = [] }: Pick<GatewayConfig, 'auth' | 'plugins'>): readonly Plugin[] {
  const own = (auth as Authenticate).plugin
  const all = [...new Set(own === undefined ? plugins : [own, ...plugins])]
  for (const plugin of all) {
    if (typeof plugin !== 'object' || plugin === null || typeof plugin.name !== 'string')
      throw new TypeError("plugins: each is an object with a `name`, such as { name: 'meter', onFinish(event) {} }")
    for (const { method, path, handle } of plugin.routes ?? [])
      if (!methods.has(method) || typeof path !== 'string' || !path.startsWith('/') || typeof handle !== 'function')
        throw new TypeError(
          `plugins: a route of '${plugin.name}' is none: give { method: 'GET', path: '/…', handle(inbound, params) {} }`,
        )
  }
  return all
}

/** The plugins' own endpoints, as lines of the table. Their errors are told in the words that most clients read. */
export const pluginRoutes = (plugins: readonly Plugin[]): readonly Route[] =>
  plugins.flatMap(({ routes = [] }) =>
    routes.map(
      ({ method, path, handle }) =>
        ({ method, path, handle, operation: 'plugin', format: defaultErrorFormat }) as const,
    ),
  )

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
