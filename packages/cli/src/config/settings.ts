import type { ConsoleOptions } from '@modelgate/console'
import { createGateway, type GatewayConfig, type ModelRoute, type Plugin, type Upstream } from '@modelgate/core'
import type { CommandContext, Env } from '../terminal/command-context.ts'
import { FlagOrEnvironmentError, inFile } from '../terminal/errors.ts'
import { displayPath } from '../terminal/format.ts'
import { type Access, accessOf, addressOf, checkAuth, type Flags, issueCommand } from './access.ts'

export type { Flags } from './access.ts'

import { checkNames } from './check-names.ts'
import type { ModelgateConfig } from './define-config.ts'
import { readEnvFile } from './env-file.ts'
import { envUpstreams } from './env-providers.ts'
import { type LoadedFile, loadFile } from './load-file.ts'
import { ProblemList } from './problem-list.ts'
import { hostOf } from './redis-settings.ts'
import { describeLocations, openServerResources, type ServerResources } from './server-resources.ts'
import { locationsOf, type StorageLocations } from './token-storage.ts'

/** Configuration of the server from flags, environment and file. */
export interface Settings extends Omit<Access, 'auth'> {
  /** The configuration file, relative to the working directory. */
  readonly file: string | undefined
  readonly host: string
  readonly port: number
  readonly gateway: GatewayConfig
  /** Command that issues a token for this server; undefined if issued tokens are not stored. */
  readonly issueCommand: string | undefined
  readonly pages: { readonly home: boolean; readonly playground: boolean }
  /** Further lines of the startup message. */
  readonly details: readonly (readonly [name: string, value: string])[]
  /** True if no provider key is set and the demo responds. */
  readonly demo: boolean
  /** Environment variable of each upstream's key, for messages. */
  readonly keyNames: Readonly<Record<string, string>>
  /** Kept for a reload. */
  readonly resources: ServerResources
}

/**
 * Reads flags, environment and file. Throws an Error whose message is meant for the user.
 *
 * @param@param resources those of the running server, for a reload; `'nothing'`: no folder is created and no connection is opened
 */
export async function readSettings(
  context: CommandContext,
  flags: Flags,
  resources?: ServerResources | 'nothing',
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
  before: ServerResources | 'nothing' | undefined,
): Promise<Settings> {
  const config = (file?.config ?? {}) as ModelgateConfig
  const address = addressOf(flags, context.env, config)
  const isRunning = before !== undefined && before !== 'nothing'
  const resources = isRunning
    ? before
    : openServerResources(before === 'nothing' ? inMemory(configured) : configured, context, config.logger ?? console)
  // A reload keeps open storage, and with it the accepted tokens.
  const locations = isRunning ? resources.locations : configured
  try {
    const { auth, ...access } = accessOf(config, locations, context, resources)
    const { upstreams, models, ...origin } = await upstreamsOf(config, context.env, resources)
    const { plugins, pages } = await pluginsOf(config, resources)
    const moved =
      describeLocations(locations) === describeLocations(configured)
        ? []
        : ['restart the server to use the new locations of tokens, prices and ledger']
    return {
      ...access,
      ...address,
      ...origin,
      gateway: { ...gatewayPart(config), ...responsesPart(config, auth, resources), auth, upstreams, models, plugins },
      issueCommand: issueCommand(locations, context, flags),
      file: file?.name,
      pages,
      details: detailsOf(config, locations, file, context.cwd, hasEnvFile),
      notes: [...origin.notes, ...access.notes, ...moved],
      resources,
    }
  } catch (error) {
    if (!isRunning) await resources.close()
    throw error
  }
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
])

/** Stores responses in the Redis that servers share. Without authentication responses have no owner and are not stored. */
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

async function pluginsOf(config: ModelgateConfig, resources: ServerResources) {
  const { console: pages = true, otel = false, plugins = [] } = config
  const own: Plugin[] = [resources.tokens.tokens.plugin, ...plugins]
  if (otel !== false) own.push((await import('@modelgate/otel')).otel(otel === true ? {} : otel))
  const options: ConsoleOptions = typeof pages === 'boolean' ? {} : pages
  if (pages !== false) own.push(await resources.pages(options))
  return { plugins: own, pages: { home: pages !== false, playground: pages !== false && options.playground !== false } }
}

function detailsOf(
  { otel }: ModelgateConfig,
  { tokens, data, redis, prices, ledger }: StorageLocations,
  file: LoadedFile | undefined,
  cwd: string,
  hasEnvFile: boolean,
): (readonly [string, string])[] {
  const place = (path: string): string => displayPath(cwd, path)
  const given = (value: unknown): string => (typeof value === 'string' ? place(value) : 'set in the configuration')
  return [
    ['Configuration', [file?.name ?? 'the environment', ...(hasEnvFile ? ['.env'] : [])].join(', ')],
    ...(tokens === undefined ? [] : [['Issued tokens', 'set in the configuration'] as const]),
    ...(data === undefined ? [] : [['Issued tokens', place(data)] as const]),
    ...(redis === undefined ? [] : [['Issued tokens', `Redis at ${hostOf(redis.url)}`] as const]),
    ...(prices === undefined ? [] : [['Prices', given(prices)] as const]),
    ...(ledger === undefined ? [] : [['Ledger', given(ledger)] as const]),
    ...(otel === undefined || otel === false ? [] : [['OpenTelemetry', 'on'] as const]),
  ]
}
