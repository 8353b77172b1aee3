import type { CaptureSettings } from '../accounting/call-capture.ts'
import { createCanceller } from '../base/async.ts'
import type { GatewayContext } from '../calls/call.ts'
import type { BodyLimits } from '../config/call-bodies.ts'
import type { Authenticate, GatewayConfig } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import { resolveLimits } from '../config/limits.ts'
import { toLogger } from '../config/logger.ts'
import type { CircuitChanged, CooldownStarted } from '../config/notices.ts'
import type { Plugin } from '../config/plugin.ts'
import { resolveReferences } from '../config/references.ts'
import type { ResponseStore } from '../config/stores.ts'
import { isUpstreamFormat, loadWires } from '../formats/codec-registry.ts'
import { lazyFetchTransport } from '../http/lazy-fetch-transport.ts'
import { boundedTransport, type Transport } from '../http/transport.ts'
import { defaultErrorFormat } from '../operations/client-codec.ts'
import { createMatcher, type RouteMatcher } from '../operations/match-route.ts'
import { noticedScheme, storedScheme } from '../operations/references/notice.ts'
import { guardedStore, loadOwnership, memoryResponseStore } from '../operations/responses/store.ts'
import type { HandlerConfig, Route, RouteMatch } from '../operations/route.ts'
import { createCardSource } from '../routing/card-source.ts'
import { createOverloadMemory } from '../routing/health/cooldowns.ts'
import { createHealth, unchangedUpstreams } from '../routing/health/health.ts'
import { createRouter } from '../routing/router.ts'
import type { Edition } from './edition.ts'
import { checkConfig } from './validate-config.ts'

/** Everything derived from one configuration. `reconfigure` replaces it as a whole: a call ends under the snapshot it began with. */
export interface ConfigSnapshot extends HandlerConfig {
  readonly edition: Edition
  readonly routes: readonly Route[]
  /** The store in this process's memory. Later configurations without a store use it too. */
  readonly defaultStore: ResponseStore
  /** Responses are stored in this process's memory, and the configuration does not ask for that. */
  readonly usesDefaultStore: boolean
  /** Replaces the adapter's transport. */
  readonly transport: Transport | undefined
  readonly match: RouteMatcher
  /** Loads what calls need of the formats of all upstreams. Returns undefined once it has been loaded. */
  loadFormats(): Promise<void> | undefined
}

/**
 * Creates the snapshot of a configuration.
 *
 * @param notify receives changes of the upstreams' health. Called for as long as later snapshots keep that health
 * @param before the snapshot that is replaced. Health, overloads and the default store are taken over; it keeps serving its own calls
 * @throws TypeError for an invalid configuration, with what to write instead
 */
export function createSnapshot(
  edition: Edition,
  config: GatewayConfig,
  notify: (notice: CircuitChanged | CooldownStarted) => void,
  before?: ConfigSnapshot,
): ConfigSnapshot {
  checkConfig(config, edition.checkConfig)
  const { basePath = '', responses = {} } = config
  const limits = resolveLimits(config.limits)
  const logger = toLogger(config.logger)
  const ownStore = before?.defaultStore ?? memoryResponseStore()
  const { ttlMs = defaultTtlMs } = responses
  // Without authentication nothing is stored, unless the configuration names a store.
  const defaultStore = config.auth === 'none' ? false : ownStore
  const store = responses.store ? guardedStore(responses.store, limits.callbackMs) : (responses.store ?? defaultStore)
  const recordsOf: ConfigSnapshot['recordsOf'] = async (identity) =>
    (await loadOwnership()).createCallerRecords(
      store === false || isNameless(identity) ? undefined : store,
      ttlMs,
      identity,
      config.objects?.ttlMs ?? defaultObjectTtlMs,
      config.compaction === 'refuse' ? undefined : config.compaction?.secret,
    )
  const plugins = resolvePlugins(config)
  const references = resolveReferences(config.references)
  const shared: GatewayContext = {
    parts: edition.parts,
    router: createRouter(config),
    cards: createCardSource(config.modelCards, edition.loadCardTable),
    health: createHealth(
      config.breaker,
      config.health,
      before && unchangedUpstreams(before.shared.health, before.config.upstreams, config.upstreams),
      logger,
      notify,
    ),
    overloads: before?.shared.overloads ?? createOverloadMemory(),
    onLoss: config.onLoss ?? 'warn',
    plugins,
    noticePlugins: plugins.filter(({ onNotice }) => onNotice !== undefined),
    capture: captureSettings(plugins, Object.values(config.upstreams), logger),
    limits,
    logger,
    openSpool: config.spool,
    media: config.media,
    references,
    closing: before?.shared.closing ?? createCanceller(),
    polledByOwner: before?.shared.polledByOwner ?? new Map(),
    claim:
      store === false ? undefined : async (identity, received) => (await recordsOf(identity)).saveReceivedIds(received),
  }
  const table = Object.freeze([...edition.routes, ...pluginRoutes(plugins)])
  const matchPath = createMatcher(table)
  return {
    edition,
    parts: edition.parts,
    config,
    shared,
    routes: table,
    defaultStore: ownStore,
    keepsResponses: store !== false,
    usesDefaultStore: store === ownStore,
    transport: configuredTransport(config),
    // All paths below a base path are the gateway's.
    match: basePath === '' ? matchPath : (method, path) => matchPath(method, pathBelow(basePath, path)),
    loadFormats: formatLoader(config),
    recordsOf,
    async checkReferences(scheme, request, identity) {
      const ownership = await loadOwnership()
      return ownership.checkReferences(scheme, request, await recordsOf(identity), references)
    },
    async resolveReferences(route, request, identity) {
      if (route.usesStoredResponses !== true) {
        const scheme = noticedScheme(route, request)
        const holder = scheme === undefined ? undefined : await this.checkReferences(scheme, request, identity)
        return { request, stored: holder && { holder } }
      }
      const store = await edition.parts.loadResponseStore()
      const { bodyBytes } = shared.limits
      const records = await recordsOf(identity)
      const options = { policy: references, maxChars: bodyBytes }
      const resolved = await store.resolveReferences(storedScheme(route), request, records, options)
      const { onlyUpstream, unknown, notOwned } = resolved
      return { request: resolved.request, stored: { onlyUpstream, unknown, notOwned } }
    },
  }
}

function formatLoader({ upstreams }: GatewayConfig): ConfigSnapshot['loadFormats'] {
  const spoken = new Set(
    Object.values(upstreams).flatMap(({ formats }) => Object.keys(formats).filter(isUpstreamFormat)),
  )
  let isLoaded = false
  return () => {
    if (isLoaded) return undefined
    const loading = loadWires(spoken)
    isLoaded = loading === undefined
    return loading
  }
}

/** Returns the route that a WebSocket upgrade of a path reaches; null if the gateway does not serve the path. */
export function matchUpgrade({ match }: ConfigSnapshot, path: string, sharesRoot?: boolean): RouteMatch | null {
  const posted = match('POST', path, sharesRoot)
  const isOpened = posted?.route.upgrade !== undefined && posted.allow === undefined
  return isOpened ? posted : match('GET', path, sharesRoot)
}

/** Returns the path below the base path; '' for one that is not below it, which no route matches. */
function pathBelow(basePath: string, path: string): string {
  if (path === basePath) return '/'
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : ''
}

const warned = new WeakSet<object>()

/** Warns, once for each logger, that the default response store ends with the process. */
export function warnAboutMemoryStore({ usesDefaultStore, config, shared }: ConfigSnapshot): void {
  const { logger = console } = config
  if (!usesDefaultStore || logger === false || warned.has(logger)) return
  warned.add(logger)
  shared.logger.warn(
    'modelgate: stored responses, and the owners of references, are kept in the memory of this process and lost when it ends. Set responses.store to your own store. To accept this, set it to memoryResponseStore(). To store nothing, set it to false.',
  )
}

/** Files and conversations are in use for longer than responses. */
const defaultObjectTtlMs = 30 * 24 * 60 * 60 * 1000
const defaultTtlMs = 24 * 60 * 60 * 1000

function configuredTransport({ fetch, transport }: GatewayConfig): Transport | undefined {
  if (transport !== undefined) return boundedTransport(transport)
  return fetch === undefined ? undefined : boundedTransport(lazyFetchTransport(fetch))
}

/** Callers without an id must not find each other's responses. */
const isNameless = (identity: Identity | null): boolean =>
  identity !== null && (typeof identity.id !== 'string' || identity.id === '')

/** Returns the gateway's plugins without duplicates, that of `auth` first. Throws a TypeError for anything that is not a plugin. */
function resolvePlugins({ auth, plugins = [] }: Pick<GatewayConfig, 'auth' | 'plugins'>): readonly Plugin[] {
  const authPlugin = (auth as Authenticate).plugin
  const all = [...new Set(authPlugin === undefined ? plugins : [authPlugin, ...plugins])]
  for (const plugin of all) {
    if (typeof plugin !== 'object' || plugin === null || typeof plugin.name !== 'string')
      throw new TypeError(
        "plugins: each plugin is an object with a `name`, such as { name: 'meter', onFinish(event) {} }",
      )
    for (const { method, path, handle } of plugin.routes ?? [])
      if (!methods.has(method) || typeof path !== 'string' || !path.startsWith('/') || typeof handle !== 'function')
        throw new TypeError(
          `plugins: a route of '${plugin.name}' is invalid: write { method: 'GET', path: '/…', handle(inbound, params) {} }`,
        )
  }
  return all
}

const defaultBodyBytes = 65_536
const defaultRunningBytes = 32 * 1024 * 1024

/** Returns the settings of captures; undefined if no plugin asks for bodies. Throws a TypeError for invalid bounds. */
function captureSettings(
  plugins: readonly Plugin[],
  upstreams: CaptureSettings['upstreams'],
  logger: CaptureSettings['logger'],
): CaptureSettings | undefined {
  const asking = plugins.filter(({ onBodies }) => onBodies !== undefined)
  if (asking.length === 0) return undefined
  const largest = (name: keyof BodyLimits, otherwise: number): number =>
    Math.max(
      ...asking.map(({ name: plugin, bodyLimits: { [name]: bytes = otherwise } = {} }) => {
        if (Number.isSafeInteger(bytes) && bytes > 0) return bytes
        throw new TypeError(`plugins: bodyLimits.${name} of '${plugin}' must be a whole number of bytes greater than 0`)
      }),
    )
  return {
    plugins: asking,
    maxBodyBytes: largest('maxBodyBytes', defaultBodyBytes),
    memory: { left: largest('maxRunningBytes', defaultRunningBytes) },
    upstreams,
    logger,
  }
}

/** Returns the plugins' endpoints as rows of the route table. */
const pluginRoutes = (plugins: readonly Plugin[]): readonly Route[] =>
  plugins.flatMap(({ routes = [] }) =>
    routes.map(
      ({ method, path, handle, whileDraining }) =>
        ({ method, path, handle, whileDraining, operation: 'plugin', format: defaultErrorFormat }) as const,
    ),
  )

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
