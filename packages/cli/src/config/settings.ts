import type { ConsoleOptions } from '@modelgate/console'
import { createGateway, type GatewayConfig, type ModelRoute, type Plugin, type Upstream } from '@modelgate/core'
import { inFile, OutsideError } from '../errors.ts'
import { shownPath } from '../shown-path.ts'
import type { Env, World } from '../world.ts'
import { type Access, accessOf, checkAuth, issueCommand } from './access.ts'
import { addressOf, type Flags } from './address.ts'

export type { Flags } from './address.ts'

import { checkNames } from './check-names.ts'
import type { ModelgateConfig } from './define-config.ts'
import { readEnvFile } from './env-file.ts'
import { envUpstreams } from './env-providers.ts'
import { type Kept, openKept, saidOf } from './kept.ts'
import { type LoadedFile, loadFile } from './load-file.ts'
import { type Places, placesOf } from './open-tokens.ts'
import { ProblemList } from './problem-list.ts'
import { hostOf } from './redis-settings.ts'

/** What the server is to do, from flags, environment and file. */
export interface Settings extends Omit<Access, 'auth'> {
  /** The configuration file, relative to the working directory. */
  readonly file: string | undefined
  readonly host: string
  readonly port: number
  readonly gateway: GatewayConfig
  /** What issues a token for this server; undefined: tokens that are issued would not last. */
  readonly issueCommand: string | undefined
  readonly pages: { readonly home: boolean; readonly playground: boolean }
  /** What else is configured, for the table at the start. */
  readonly facts: readonly (readonly [name: string, value: string])[]
  /** There is no key, so the answers are made up. */
  readonly demo: boolean
  /** The variable that an upstream's key is from, for what to say if it is refused. */
  readonly keyNames: Readonly<Record<string, string>>
  /** For a reload. */
  readonly kept: Kept
}

/**
 * Reads flags, environment and file. Throws an Error whose message is for the user.
 *
 * @param kept what a server holds that runs already, for a reload; `'nothing'`: no folder is made and nobody is connected to
 */
export async function readSettings(world: World, flags: Flags, kept?: Kept | 'nothing'): Promise<Settings> {
  const hasEnvFile = readEnvFile(world)
  const problems = new ProblemList()
  const file = await loadFile(world, flags.config, problems.report)
  const places = await checkFile(world, flags, file, problems)
  try {
    return await settingsOf(world, flags, file, hasEnvFile, places, kept)
  } catch (error) {
    throw error instanceof OutsideError ? error : inFile(file?.name, error)
  }
}

/** Checks everything that can be checked before anything is opened. Throws one error with all problems. */
async function checkFile(
  world: World,
  flags: Flags,
  file: LoadedFile | undefined,
  problems: ProblemList,
): Promise<Places> {
  const config = (file?.config ?? {}) as ModelgateConfig
  checkNames(file?.config ?? {}, problems.report)
  problems.attempt(() => addressOf(flags, world.env, config))
  const places = problems.attempt(() => placesOf(world, file))
  problems.attempt(() => checkAuth(config))
  problems.attempt(() => checkPlugins(config))
  if (problems.isEmpty && places !== undefined) return places
  // The gateway's own checks come later otherwise: then they also see the upstreams of the environment and of the demo.
  if (config.upstreams !== undefined) {
    const { upstreams, models = {} } = config
    const checked = { ...gatewayPart(config), auth: 'none', upstreams, models, plugins: [], logger: false } as const
    const gateway = problems.attempt(() => createGateway(checked))
    await gateway?.close()
  }
  throw problems.toError(file?.name)
}

async function settingsOf(
  world: World,
  flags: Flags,
  file: LoadedFile | undefined,
  hasEnvFile: boolean,
  wanted: Places,
  before: Kept | 'nothing' | undefined,
): Promise<Settings> {
  const config = (file?.config ?? {}) as ModelgateConfig
  const address = addressOf(flags, world.env, config)
  const isRunning = before !== undefined && before !== 'nothing'
  const kept = isRunning
    ? before
    : openKept(before === 'nothing' ? inMemory(wanted) : wanted, world, config.logger ?? console)
  // What is open stays open, and with it who is let in.
  const places = isRunning ? kept.places : wanted
  try {
    const { auth, ...access } = accessOf(config, places, world, kept)
    const { upstreams, models, ...origin } = await upstreamsOf(config, world.env, kept)
    const { plugins, pages } = await pluginsOf(config, kept)
    const moved =
      saidOf(places) === saidOf(wanted)
        ? []
        : ['tokens, prices and ledger are somewhere else now: that takes a new start']
    return {
      ...access,
      ...address,
      ...origin,
      gateway: { ...gatewayPart(config), ...responsesPart(config, auth, kept), auth, upstreams, models, plugins },
      issueCommand: issueCommand(places, world, flags),
      file: file?.name,
      pages,
      facts: factsOf(config, places, file, world.cwd, hasEnvFile),
      notes: [...origin.notes, ...access.notes, ...moved],
      kept,
    }
  } catch (error) {
    if (!isRunning) await kept.close()
    throw error
  }
}

const inMemory = ({ prices, tokens }: Places): Places => ({ prices, tokens })

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

/** Servers that share a Redis find each other's stored responses. Callers without authentication have none. */
const responsesPart = (
  { responses }: ModelgateConfig,
  auth: GatewayConfig['auth'],
  { tokens }: Kept,
): Pick<GatewayConfig, 'responses'> =>
  tokens.responses === undefined || auth === 'none' || responses?.store !== undefined
    ? {}
    : { responses: { ...responses, store: tokens.responses } }

/** What the gateway itself takes. */
const gatewayPart = (config: ModelgateConfig): Partial<GatewayConfig> =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !serverFields.has(name)))

/** Where calls go: the file's upstreams, else those of the environment, else the demo. */
async function upstreamsOf(
  config: ModelgateConfig,
  env: Env,
  kept: Kept,
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
  const demo = await kept.demo()
  const { upstreams } = demo
  // The file's models go to upstreams that are not there: without keys it is the demo or nothing.
  const idle = config.models === undefined ? [] : ["the file's models are not served, because no provider key is set"]
  return { upstreams, models: demo.models, keyNames: {}, demo: true, notes: [...found.notes, ...idle] }
}

function checkPlugins({ plugins = [] }: ModelgateConfig): void {
  if (!Array.isArray(plugins)) throw new Error('plugins is no list: write [plugin, …]')
}

async function pluginsOf(config: ModelgateConfig, kept: Kept) {
  const { console: pages = true, otel = false, plugins = [] } = config
  const own: Plugin[] = [kept.tokens.tokens.plugin, ...plugins]
  if (otel !== false) own.push((await import('@modelgate/otel')).otel(otel === true ? {} : otel))
  const options: ConsoleOptions = typeof pages === 'boolean' ? {} : pages
  if (pages !== false) own.push(await kept.pages(options))
  return { plugins: own, pages: { home: pages !== false, playground: pages !== false && options.playground !== false } }
}

function factsOf(
  { otel }: ModelgateConfig,
  { tokens, data, redis, prices, ledger }: Places,
  file: LoadedFile | undefined,
  cwd: string,
  hasEnvFile: boolean,
): (readonly [string, string])[] {
  const place = (path: string): string => shownPath(cwd, path)
  const given = (value: unknown): string => (typeof value === 'string' ? place(value) : 'of the configuration')
  return [
    ['Configuration', [file?.name ?? 'the environment', ...(hasEnvFile ? ['.env'] : [])].join(', ')],
    ...(tokens === undefined ? [] : [['Issued tokens', 'of the configuration'] as const]),
    ...(data === undefined ? [] : [['Issued tokens', place(data)] as const]),
    ...(redis === undefined ? [] : [['Issued tokens', `Redis at ${hostOf(redis.url)}`] as const]),
    ...(prices === undefined ? [] : [['Prices', given(prices)] as const]),
    ...(ledger === undefined ? [] : [['Ledger', given(ledger)] as const]),
    ...(otel === undefined || otel === false ? [] : [['OpenTelemetry', 'on'] as const]),
  ]
}
