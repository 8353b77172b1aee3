import type { ConsoleOptions, RecentCallsOptions, UsageOptions } from '@modelgate/console'
import type {
  Admission,
  Authenticate,
  AwsOptions,
  BedrockOptions,
  GatewayConfig,
  HealthState,
  Logger,
  MediaPolicy,
  Plugin,
  PluginRoute,
  ResponseStore,
  ResponsesConfig,
  RoutePlan,
  Spool,
  Transport,
  TransportResponse,
  Upstream,
  UpstreamOptions,
  VertexOptions,
} from '@modelgate/core'
import type { HealthOptions } from '@modelgate/core/health'
import type { MediaFetcherOptions, NodeOptions } from '@modelgate/node'
import type { OtelOptions } from '@modelgate/otel'
import type { PrometheusOptions } from '@modelgate/otel/prometheus'
import type {
  AdminOptions,
  LedgerSink,
  MeterStore,
  Prices,
  Storage,
  TokenStore,
  TokensOptions,
} from '@modelgate/tokens'
import type { SubjectName } from './matrix.ts'

/** Coverage of an option's functions: subjects of the matrix, or a reference to another type of this table. */
type Tried = readonly SubjectName[] | { readonly see: string } | { readonly not: string }

type IsFunction<T> = Extract<NonNullable<T>, (...args: never[]) => unknown> extends never ? false : true

/** An option of function type cannot be marked as data. */
type Covered<T> = { readonly [K in keyof Required<T>]: IsFunction<T[K]> extends true ? Tried : Tried | 'data' }

const data = 'data'

/**
 * Every member of every type by which a host supplies functions. A missing member is a compiler error and fails the
 * test next to this file.
 */
export const covered = {
  GatewayConfig: {
    auth: ['auth'],
    upstreams: { see: 'Upstream' },
    models: { see: 'RoutePlan' },
    listedModels: data,
    modelCards: data,
    onLoss: data,
    explain: ['explain'],
    tokenizer: ['tokenizer'],
    responses: { see: 'ResponsesConfig' },
    objects: data,
    references: data,
    plugins: { see: 'Plugin' },
    limits: data,
    retry: data,
    breaker: data,
    health: { see: 'HealthState' },
    spool: ['spool'],
    media: { see: 'MediaPolicy' },
    basePath: data,
    fetch: ['fetch', "fetch's body"],
    transport: ['transport'],
    logger: { see: 'Logger' },
  } satisfies Covered<GatewayConfig>,
  Authenticate: { plugin: { see: 'Plugin' } } satisfies Covered<Authenticate>,
  ResponsesConfig: { store: { see: 'ResponseStore' }, ttlMs: data } satisfies Covered<ResponsesConfig>,
  ResponseStore: {
    get: ['store.get'],
    set: ['store.set'],
    delete: ['store.delete'],
  } satisfies Covered<ResponseStore>,
  RoutePlan: {
    targets: { see: 'Target' },
    strategy: data,
    preferLossless: data,
    card: data,
    retry: data,
    hedgeMs: data,
  } satisfies Covered<RoutePlan>,
  Target: {
    upstream: data,
    model: data,
    onLoss: data,
    priority: data,
    weight: data,
    when: ['when'],
    card: data,
    defaults: data,
    overrides: data,
    limits: data,
  } satisfies Covered<Target>,
  Plugin: {
    name: data,
    onStart: ['onStart'],
    routes: { see: 'PluginRoute' },
    onRequest: ['onRequest'],
    admit: ['admit'],
    onUpstream: ['onUpstream'],
    costOf: ['costOf'],
    priceOf: { not: 'called when models are described or listed, never during a call' },
    onFinish: ['onFinish'],
    onNotice: ['onNotice'],
    onBodies: ['onBodies'],
    bodyLimits: data,
    logsAttempts: data,
  } satisfies Covered<Plugin>,
  PluginRoute: { method: data, path: data, whileDraining: data, handle: ['handle'] } satisfies Covered<PluginRoute>,
  HealthOptions: {
    authorize: ['health: authorize'],
    checks: ['health: a check'],
    timeoutMs: data,
    logger: { see: 'Logger' },
  } satisfies Covered<HealthOptions>,
  PrometheusOptions: {
    register: { not: 'a registry of prom-client' },
    path: data,
    authorize: ['prometheus: authorize'],
    providers: data,
  } satisfies Covered<PrometheusOptions>,
  ConsoleOptions: {
    playground: data,
    documentation: data,
    explain: data,
    recentCalls: { see: 'RecentCallsOptions' },
    usage: { see: 'UsageOptions' },
  } satisfies Covered<ConsoleOptions>,
  RecentCallsOptions: {
    authorize: ['console: authorize of recent calls'],
    size: data,
    capture: data,
  } satisfies Covered<RecentCallsOptions>,
  UsageOptions: { authorize: ['console: authorize of usage'], tokens: data } satisfies Covered<UsageOptions>,
  Admission: { allowance: data, headers: data, settle: ['settle'] } satisfies Covered<Admission>,
  HealthState: { read: ['health.read'], write: ['health.write'] } satisfies Covered<HealthState>,
  MediaPolicy: {
    allows: ['media.allows'],
    fetch: ['media.fetch'],
    inline: data,
    maxCount: data,
    maxTotalBytes: data,
  } satisfies Covered<MediaPolicy>,
  Logger: { warn: ['logger.warn'], error: ['logger.error'] } satisfies Covered<Logger>,
  Spool: { write: ['spool.write'], read: ['spool.read'], close: ['spool.close'] } satisfies Covered<Spool>,
  Transport: { settlesOnAbort: data } satisfies Covered<Transport>,
  TransportResponse: {
    status: data,
    resent: data,
    delimited: data,
    header: ['transport.header'],
    bytes: ['transport.bytes'],
    stream: ['transport.stream'],
    discard: ['transport.discard'],
  } satisfies Covered<TransportResponse>,
  Upstream: {
    baseURL: data,
    formats: data,
    serves: { not: 'part of a provider, pure and synchronous' },
    operations: data,
    countTokens: data,
    realtime: data,
    live: data,
    objects: data,
    query: data,
    hosting: { not: 'part of a provider, pure and synchronous' },
    headers: data,
    keys: data,
    authorize: ['authorize of an upstream'],
    passHeaders: data,
    quirks: data,
    modelRules: data,
    problems: data,
  } satisfies Covered<Upstream>,
  UpstreamOptions: { apiKey: data, baseURL: data, headers: data, modelRules: data } satisfies Covered<UpstreamOptions>,
  AwsOptions: { region: data, apiKey: data, credentials: ['credentials of AWS'] } satisfies Covered<
    Omit<AwsOptions, 'baseURL' | 'headers' | 'modelRules'>
  >,
  BedrockOptions: {
    formats: data,
    isClaude: ['isClaude of Bedrock'],
    betas: data,
  } satisfies Covered<Omit<BedrockOptions, keyof AwsOptions>>,
  VertexOptions: {
    project: data,
    location: data,
    apiKey: data,
    token: ['token of an upstream'],
    keyFile: data,
    credentials: data,
    apiVersion: data,
  } satisfies Covered<Omit<VertexOptions, 'baseURL' | 'headers' | 'modelRules'>>,
  NodeOptions: { transport: ['transport'] } satisfies Covered<NodeOptions>,
  MediaFetcherOptions: {
    hosts: data,
    maxBytes: data,
    types: data,
    timeoutMs: data,
    insecure: data,
    allowAddress: ['node: allowAddress'],
    inline: data,
    maxCount: data,
    maxTotalBytes: data,
  } satisfies Covered<MediaFetcherOptions>,
  OtelOptions: {
    tracerProvider: { not: 'an OpenTelemetry SDK; see harmless.test.ts there' },
    meterProvider: { not: 'an OpenTelemetry SDK; see harmless.test.ts there' },
    providers: data,
    contextFrom: ['otel: contextFrom'],
    attributes: ['otel: attributes'],
    captureContent: data,
  } satisfies Covered<OtelOptions>,
  TokensOptions: {
    storage: { see: 'Storage' },
    prices: { see: 'Prices' },
    ledger: { see: 'LedgerSink' },
    cacheMs: data,
    staleMs: data,
    reserve: data,
    unpriced: data,
    logger: ['tokens: logger'],
    now: { not: 'a clock, for tests' },
  } satisfies Covered<TokensOptions>,
  AdminOptions: { authorize: ['tokens: authorize'], path: data } satisfies Covered<AdminOptions>,
  Storage: {
    tokens: { see: 'TokenStore' },
    meters: { see: 'MeterStore' },
    check: { not: 'called when a gateway starts, which fails with its exception' },
    ping: { not: 'called by a readiness check, which fails with its rejection' },
    close: { not: 'called by `tokens.close`, whose caller awaits it' },
  } satisfies Covered<Storage>,
  TokenStore: {
    findByDigest: ['tokens: findByDigest'],
    get: ['tokens: get'],
    create: { not: 'called by an administrator of tokens, who receives the rejection' },
    change: { not: 'called by an administrator of tokens, who receives the rejection' },
    list: { not: 'called by an administrator of tokens, who receives the rejection' },
  } satisfies Covered<TokenStore>,
  MeterStore: {
    reserve: ['tokens: reserve'],
    settle: ['tokens: settle'],
    renew: { not: 'called by a timer every 20 seconds, which logs failures' },
    read: { not: 'called by a reader of usage, who receives the rejection' },
    sums: { not: 'called by a reader of usage, who receives the rejection' },
  } satisfies Covered<MeterStore>,
  Prices: {
    currency: data,
    costOf: ['tokens: prices.costOf'],
    atLeast: ['tokens: prices.atLeast'],
    estimate: ['tokens: prices.estimate'],
    priceOf: { not: 'called only by hosts' },
  } satisfies Covered<Prices>,
  LedgerSink: {
    append: ['tokens: ledger.append'],
    flush: {
      not: 'called by `tokens.close`, whose caller awaits it, and for 5 s by usage reports, which ignore failures',
    },
    close: { not: 'called by `tokens.close`, whose caller awaits it' },
    read: { not: 'called by a reader of a usage report, who receives the rejection, or one after 120 s' },
  } satisfies Covered<LedgerSink>,
} as const

type Target = Exclude<Exclude<RoutePlan['targets'][number], string>, undefined>
