import type { RecentCallsOptions } from '@modelgate/console'
import { createGateway, type GatewayConfig, type ModelRoute, type Plugin, type Upstream } from '@modelgate/core'
import type { CommandContext, Env } from '../terminal/command-context.ts'
import { FlagOrEnvironmentError, inFile } from '../terminal/errors.ts'
import { displayPath } from '../terminal/format.ts'
import { type Access, accessOf, addressOf, checkAuth, type Flags, issueCommand, keepsIssuedTokens } from './access.ts'
import { type Admin, adminOf, withAdmin, withCapture } from './admin.ts'
import { captureNotes, captureOf } from './capture.ts'

export type { Flags } from './access.ts'

import { checkNames } from './check-names.ts'
import type { ModelgateConfig } from './define-config.ts'
import { demoLedger } from './demo-ledger.ts'
import { readEnvFile } from './env-file.ts'
import { envUpstreams } from './env-providers.ts'
import { healthPlugin } from './health.ts'
import { type LoadedFile, loadFile } from './load-file.ts'
import { ProblemList } from './problem-list.ts'
import { hostOf } from './redis-settings.ts'
import { createServerLog, type LogSettings, logSettingsOf } from './server-log.ts'
import { describeLocations, openServerResources, type ServerResources, type SharedParts } from './server-resources.ts'
import { locationsOf, type StorageLocations } from './token-storage.ts'
import { workersOf } from './workers.ts'

/** Configuration of the server from flags, environment and file. */
export interface Settings extends Omit<Access, 'auth'> {
  /** The configuration file, relative to the working directory. */
  readonly file: string | undefined
  readonly host: string
  readonly port: number
  /** Number of processes that serve calls. */
  readonly workers: number
  readonly gateway: GatewayConfig
  readonly log: LogSettings
  /** Command that issues a token for this server; undefined if issued tokens are not stored. */
  readonly issueCommand: string | undefined
  readonly pages: {
    readonly home: boolean
    readonly playground: boolean
    readonly calls: boolean
    readonly usage: boolean
  }
  /** Undefined: the pages of the administrator do not exist. */
  readonly admin: Admin | undefined
  /** Further lines of the startup message. */
  readonly details: readonly (readonly [name: string, value: string])[]
  /** True if no provider key is set and the demo responds. */
  readonly demo: boolean
  /** Environment variable of each upstream's key, for messages. */
  readonly keyNames: Readonly<Record<string, string>>
  /** Kept for a reload. */
  readonly resources: ServerResources
}

type ResourcesToUse = ServerResources | 'nothing' | { readonly shared: SharedParts }

/**
 * Reads flags, environment and file. Throws an Error whose message is meant for the user.
 *
 * @param resources those of the running server, for a reload; `'nothing'`: no folder is created and no connection is opened;
 * `{ shared }`: those of a worker are opened, which shares some with others
 */
export async function readSettings(
  context: CommandContext,
  flags: Flags,
  resources?: ResourcesToUse,
): Promise<Settings> {
  const hasEnvFile = readEnvFile(context)
  const problems = new ProblemList()
  const file = await loadFile(context, flags.config, problems.report)
  const locations = await checkFile(context, flags, file, problems)
  try {
    return await settingsOf(context, flags, file, hasEnvFile, locations, resources)
  } catch (error) {
    throw error instanceof FlagOrEnvironmentError ? error : inFile(file?.name, error)
  }
}

/** Checks everything that can be checked before anything is opened. Throws one error with all problems. */
async function checkFile(
  context: CommandContext,
  flags: Flags,
  file: LoadedFile | undefined,
  problems: ProblemList,
): Promise<StorageLocations> {
  const config = (file?.config ?? {}) as ModelgateConfig
  checkNames(file?.config ?? {}, problems.report)
  problems.attempt(() => addressOf(flags, context.env, config))
  problems.attempt(() => logSettingsOf(flags, context, config))
  problems.attempt(() => captureOf(flags, context.env, config))
  problems.attempt(() => workersOf(flags, context.env, config))
  const locations = problems.attempt(() => locationsOf(context, file))
  problems.attempt(() => checkAuth(config))
  problems.attempt(() => checkPlugins(config))
  if (problems.isEmpty && locations !== undefined) return locations
  // With other upstreams the gateway's checks run later, with those of the environment or the demo.
  if (config.upstreams !== undefined) {
    const { upstreams, models = {} } = config
    const checked = { ...gatewayPart(config), auth: 'none', upstreams, models, plugins: [], logger: false } as const
    const gateway = problems.attempt(() => createGateway(checked))
    await gateway?.close()
  }
  throw problems.toError(file?.name)
}

async function settingsOf(
  context: CommandContext,
  flags: Flags,
  file: LoadedFile | undefined,
  hasEnvFile: boolean,
  configured: StorageLocations,
  before: ResourcesToUse | undefined,
): Promise<Settings> {
  const config = (file?.config ?? {}) as ModelgateConfig
  const address = addressOf(flags, context.env, config)
  const isRunning = before !== undefined && before !== 'nothing' && 'close' in before
  const log = logSettingsOf(flags, context, config)
  const resources = isRunning
    ? before
    : openResources(
        before === 'nothing' ? inMemory(configured) : configured,
        context,
        log,
        config,
        before === 'nothing' ? undefined : before?.shared,
      )
  // A reload keeps open storage, and with it the accepted tokens.
  const locations = isRunning ? resources.locations : configured
  try {
    const { upstreams, models, ...origin } = await upstreamsOf(config, context.env, resources)
    const admin = adminOf(context.env, origin.demo, resources.generatedAdminToken)
    const capture = captureOf(flags, context.env, config)
    const { plugins, pages } = await pluginsOf(config, resources, admin, capture)
    const { auth, ...access } = accessOf(config, locations, context, resources, pages.usage)
    const moved =
      describeLocations(locations) === describeLocations(configured)
        ? []
        : ['restart the server to use the new locations of tokens, prices and ledger']
    return {
      ...access,
      ...address,
      ...origin,
      workers: workersOf(flags, context.env, config),
      gateway: {
        ...gatewayPart(config),
        ...sharedPart(config, resources),
        ...responsesPart(config, auth, resources),
        logger: config.logger ?? resources.log.plugin.logger,
        auth,
        upstreams,
        models,
        plugins,
      },
      log,
      issueCommand: issueCommand(locations, context, flags),
      file: file?.name,
      pages,
      admin,
      details: detailsOf(config, locations, file, context.cwd, hasEnvFile, pages.usage),
      notes: [...origin.notes, ...access.notes, ...captureNotes(capture, pages.calls), ...moved],
      resources,
    }
  } catch (error) {
    if (!isRunning) await resources.close()
    throw error
  }
}

function openResources(
  locations: StorageLocations,
  context: CommandContext,
  settings: LogSettings,
  { logger, upstreams }: ModelgateConfig,
  shared: SharedParts | undefined,
): ServerResources {
  const log = createServerLog(settings, context)
  const isDemo = upstreams === undefined && Object.keys(envUpstreams(context.env).upstreams).length === 0
  const ledger = isDemo ? demoLedger() : undefined
  return openServerResources(locations, context, log, logger ?? log.plugin.logger, ledger, shared)
}

const inMemory = ({ prices, tokens }: StorageLocations): StorageLocations => ({ prices, tokens })

const serverFields: ReadonlySet<string> = new Set<keyof ModelgateConfig>([
  'port',
  'host',
  'token',
  'data',
  'redis',
  'tokens',
  'prices',
  'ledger',
  'console',
  'otel',
  'log',
  'logLevel',
  'capture',
  'workers',
])

/** Shares cooldowns and the secret of compacted conversations among workers, unless the configuration has its own. */
const sharedPart = ({ health, compaction }: ModelgateConfig, { shared }: ServerResources): Partial<GatewayConfig> =>
  shared === undefined
    ? {}
    : {
        health: health ?? shared.health,
        compaction: compaction === 'refuse' ? compaction : { secret: shared.compactionSecret, ...compaction },
      }

/** Stores responses in the Redis or the primary process that servers share. Without authentication responses have no owner and are not stored. */
const responsesPart = (
  { responses }: ModelgateConfig,
  auth: GatewayConfig['auth'],
  { tokens }: ServerResources,
): Pick<GatewayConfig, 'responses'> =>
  tokens.responses === undefined || auth === 'none' || responses?.store !== undefined
    ? {}
    : { responses: { ...responses, store: tokens.responses } }

/** Returns the settings of the gateway itself. */
const gatewayPart = (config: ModelgateConfig): Partial<GatewayConfig> =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !serverFields.has(name)))

/** Returns the upstreams of the file, else of the environment, else of the demo. */
async function upstreamsOf(
  config: ModelgateConfig,
  env: Env,
  resources: ServerResources,
): Promise<{
  upstreams: Readonly<Record<string, Upstream>>
  models: Readonly<Record<string, ModelRoute>>
  keyNames: Readonly<Record<string, string>>
  demo: boolean
  notes: readonly string[]
}> {
  if (config.upstreams !== undefined)
    return { upstreams: config.upstreams, models: config.models ?? {}, keyNames: {}, demo: false, notes: [] }
  const found = envUpstreams(env)
  if (Object.keys(found.upstreams).length > 0) return { ...found, models: config.models ?? found.models, demo: false }
  const demo = await resources.demo()
  const { upstreams } = demo
  // The file's models name upstreams that do not exist without keys, so only the demo's models are served.
  const idle =
    config.models === undefined ? [] : ['the configured models are not served, because no provider key is set']
  return { upstreams, models: demo.models, keyNames: {}, demo: true, notes: [...found.notes, ...idle] }
}

function checkPlugins({ plugins = [] }: ModelgateConfig): void {
  if (!Array.isArray(plugins)) throw new Error('plugins must be a list: [plugin, …]')
}

async function pluginsOf(
  config: ModelgateConfig,
  resources: ServerResources,
  admin: Admin | undefined,
  capture: RecentCallsOptions['capture'],
) {
  const { console: pages = true, otel = false, plugins = [] } = config
  const own: Plugin[] = [resources.tokens.tokens.plugin, ...plugins, resources.log.plugin]
  if (otel !== false) own.push((await import('@modelgate/otel')).otel(otel === true ? {} : otel))
  const options = withCapture(
    withAdmin(typeof pages === 'boolean' ? {} : pages, admin, resources.tokens.tokens),
    capture,
  )
  if (pages !== false) own.push(await resources.pages(options))
  // Last: endpoints of configured plugins with the same paths win.
  own.push(healthPlugin(admin?.token, resources.tokens, config.logger ?? resources.log.plugin.logger))
  return {
    plugins: own,
    pages: {
      home: pages !== false,
      playground: pages !== false && options.playground !== false,
      calls: pages !== false && options.recentCalls !== undefined,
      usage: pages !== false && options.usage !== undefined,
    },
  }
}

function detailsOf(
  { otel }: ModelgateConfig,
  { tokens, data, redis, prices, ledger }: StorageLocations,
  file: LoadedFile | undefined,
  cwd: string,
  hasEnvFile: boolean,
  hasTokensPage: boolean,
): (readonly [string, string])[] {
  const place = (path: string): string => displayPath(cwd, path)
  const given = (value: unknown): string => (typeof value === 'string' ? place(value) : 'set in the configuration')
  return [
    ['Configuration', [file?.name ?? 'the environment', ...(hasEnvFile ? ['.env'] : [])].join(', ')],
    ...(tokens === undefined ? [] : [['Issued tokens', 'set in the configuration'] as const]),
    ...(data === undefined ? [] : [['Issued tokens', place(data)] as const]),
    ...(redis === undefined ? [] : [['Issued tokens', `Redis at ${hostOf(redis.url)}`] as const]),
    ...(hasTokensPage && !keepsIssuedTokens({ tokens, data, redis })
      ? [['Issued tokens', 'in memory, until the server stops (set MODELGATE_DATA to keep them)'] as const]
      : []),
    ...(prices === undefined ? [] : [['Prices', given(prices)] as const]),
    ...(ledger === undefined ? [] : [['Ledger', given(ledger)] as const]),
    ...(otel === undefined || otel === false ? [] : [['OpenTelemetry', 'on'] as const]),
  ]
}
