import type { Authenticate } from '@modelgate/core'
import type { CommandContext, Env } from '../terminal/command-context.ts'
import { FlagOrEnvironmentError } from '../terminal/errors.ts'
import { shellQuote } from '../terminal/format.ts'
import { anyOf, singleToken } from './auth.ts'
import type { CaptureFlags } from './capture.ts'
import type { ModelgateConfig } from './define-config.ts'
import type { LogFlags } from './server-log.ts'
import type { ServerResources } from './server-resources.ts'
import type { StorageLocations } from './token-storage.ts'
import type { WorkerFlags } from './workers.ts'

/** How the server authenticates callers. */
export interface Access {
  readonly auth: Authenticate | 'none'
  /** The API key of clients; undefined if only issued tokens and credentials known to `auth` are accepted. */
  readonly token: string | undefined
  /** Origin of `token`. Only one that was generated for this run (`run`) is printed, because logs keep the output of a server. */
  readonly tokenFrom: 'run' | 'environment' | 'configuration'
  readonly notes: readonly string[]
}

/** @throws Error if `auth` has the wrong type */
export function checkAuth({ auth }: ModelgateConfig): void {
  if (auth !== undefined && auth !== 'none' && typeof auth !== 'function')
    throw new Error("auth must be a function (credential) => identity | null, or 'none'")
}

/**
 * Combines the ways to authenticate: MODELGATE_TOKEN or the file's `token`, the file's `auth`, and issued tokens if they are stored, or if a page
 * issues them. A token is generated for this run if nothing is set and issued tokens are not stored.
 */
export function accessOf(
  config: ModelgateConfig,
  locations: StorageLocations,
  { env }: CommandContext,
  resources: ServerResources,
  hasTokensPage: boolean,
): Access {
  const { auth } = config
  const set = env.MODELGATE_TOKEN || config.token || undefined
  if (auth === 'none') {
    const idle = set === undefined ? '' : ', and the configured token has no effect'
    return {
      auth,
      token: undefined,
      tokenFrom: 'configuration',
      notes: [`auth is 'none': the server accepts every request without authentication${idle}`],
    }
  }
  const keeps = keepsIssuedTokens(locations)
  const token = set ?? (keeps || auth !== undefined ? undefined : resources.generatedToken)
  const methods = [
    ...(token === undefined ? [] : [singleToken(token)]),
    ...(auth === undefined ? [] : [auth]),
    ...(keeps || hasTokensPage ? [resources.tokens.tokens.authenticate] : []),
  ]
  const [only] = methods
  return {
    auth: only !== undefined && methods.length === 1 ? only : anyOf(methods),
    token,
    tokenFrom: env.MODELGATE_TOKEN ? 'environment' : config.token ? 'configuration' : 'run',
    notes: [],
  }
}

/** Returns true if issued tokens are stored beyond this process. */
export const keepsIssuedTokens = ({ data, redis, tokens }: StorageLocations): boolean =>
  data !== undefined || redis !== undefined || tokens !== undefined

/**
 * Returns the command that issues a token for this server; undefined if issued tokens are not stored. A Redis address can contain a
 * password, so only its variable is named.
 */
export function issueCommand(
  locations: StorageLocations,
  { env, command }: CommandContext,
  flags: Flags,
): string | undefined {
  if (!keepsIssuedTokens(locations)) return undefined
  const { MODELGATE_DATA: data, MODELGATE_REDIS: redis } = env
  const issue = `${command} tokens issue --name laptop`
  if (data) return `MODELGATE_DATA=${shellQuote(data)} ${issue}`
  if (redis) return `${issue}  (with MODELGATE_REDIS set as for this server)`
  return flags.config === undefined ? issue : `${issue} --config ${shellQuote(flags.config)}`
}

/** Flags of `start` that configure the server. */
export interface Flags extends LogFlags, CaptureFlags, WorkerFlags {
  readonly config?: string | undefined
  readonly port?: string | undefined
  readonly host?: string | undefined
}

/** Returns the address to listen on: flags win over the environment, the environment over the file. Throws an Error that names the invalid setting. */
export function addressOf(flags: Flags, env: Env, config: ModelgateConfig): { host: string; port: number } {
  const [name, given] = (
    [
      ['--port', flags.port],
      ['PORT', env.PORT || undefined],
      ['port', config.port],
    ] as const
  ).find(([, value]) => value !== undefined) ?? ['port', 8787]
  const port = typeof given === 'number' || (typeof given === 'string' && given !== '') ? Number(given) : Number.NaN
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new (name === 'port' ? Error : FlagOrEnvironmentError)(
      `Invalid ${name} '${String(given)}': set it to a number from 0 to 65535.`,
    )
  return { host: flags.host ?? (env.HOST || config.host || '127.0.0.1'), port }
}
