import type { Authenticate } from '@modelgate/core'
import { quoted } from '../quoted.ts'
import type { World } from '../world.ts'
import type { Flags } from './address.ts'
import { anyOf, oneToken } from './auth.ts'
import type { ModelgateConfig } from './define-config.ts'
import type { Kept } from './kept.ts'
import type { Places } from './open-tokens.ts'

/** Who is let in. */
export interface Access {
  readonly auth: Authenticate | 'none'
  /** What clients may send as their API key; undefined: there is none but issued ones and those that `auth` knows. */
  readonly token: string | undefined
  /** Where `token` is from. `run`: made for this run. Only such a token is printed: logs keep what a server prints. */
  readonly tokenFrom: 'run' | 'environment' | 'configuration'
  readonly notes: readonly string[]
}

/** Throws an Error for an `auth` that is none. */
export function checkAuth({ auth }: ModelgateConfig): void {
  if (auth !== undefined && auth !== 'none' && typeof auth !== 'function')
    throw new Error("auth is neither a function nor 'none': write (credential) => identity | null, or leave it out")
}

/**
 * Who is let in: the token of MODELGATE_TOKEN or of the file, whom the file's `auth` knows, and those that were issued, where these
 * are kept. With none of them, a token that is made for this run.
 */
export function accessOf(config: ModelgateConfig, places: Places, { env }: World, kept: Kept): Access {
  const { auth } = config
  const set = env.MODELGATE_TOKEN || config.token || undefined
  if (auth === 'none') {
    const idle = set === undefined ? '' : ', and the token that is set does nothing'
    return {
      auth,
      token: undefined,
      tokenFrom: 'configuration',
      notes: [`auth is 'none': who reaches this server is let in${idle}`],
    }
  }
  const issues = isKept(places)
  const token = set ?? (issues || auth !== undefined ? undefined : kept.madeToken)
  const all = [
    ...(token === undefined ? [] : [oneToken(token)]),
    ...(auth === undefined ? [] : [auth]),
    ...(issues ? [kept.tokens.tokens.authenticate] : []),
  ]
  const [only] = all
  return {
    auth: only !== undefined && all.length === 1 ? only : anyOf(all),
    token,
    tokenFrom: env.MODELGATE_TOKEN ? 'environment' : config.token ? 'configuration' : 'run',
    notes: [],
  }
}

/** Whether tokens that are issued outlive this process. */
export const isKept = ({ data, redis, tokens }: Places): boolean =>
  data !== undefined || redis !== undefined || tokens !== undefined

/**
 * The command that issues a token for this server; undefined where issued tokens are not kept. An address of Redis is named by its
 * variable, as it may hold a password.
 */
export function issueCommand(places: Places, { env, command }: World, flags: Flags): string | undefined {
  if (!isKept(places)) return undefined
  const { MODELGATE_DATA: data, MODELGATE_REDIS: redis } = env
  const issue = `${command} tokens issue --name laptop`
  if (data) return `MODELGATE_DATA=${quoted(data)} ${issue}`
  if (redis) return `${issue}  (with MODELGATE_REDIS set as for this server)`
  return flags.config === undefined ? issue : `${issue} --config ${quoted(flags.config)}`
}
