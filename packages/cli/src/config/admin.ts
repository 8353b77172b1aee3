import type { Authorize, ConsoleOptions, RecentCallsOptions } from '@modelgate/console'
import type { Tokens } from '@modelgate/tokens'
import type { Env } from '../terminal/command-context.ts'
import { bearerOf } from './health.ts'

/** The token of the server's administrator, which protects the recent calls, and the usage and management of tokens. */
export interface Admin {
  readonly token: string
  /** Only a token that was generated for this run (`run`) is printed. */
  readonly from: 'environment' | 'run'
}

/** Returns MODELGATE_ADMIN_TOKEN, in a demo the token of this run, else undefined: the pages of the administrator do not exist. */
export function adminOf(env: Env, demo: boolean, generatedToken: string): Admin | undefined {
  if (env.MODELGATE_ADMIN_TOKEN) return { token: env.MODELGATE_ADMIN_TOKEN, from: 'environment' }
  return demo ? { token: generatedToken, from: 'run' } : undefined
}

/** Sets what recent calls capture, if the pages exist. */
export function withCapture(options: ConsoleOptions, capture: RecentCallsOptions['capture']): ConsoleOptions {
  if (options.recentCalls === undefined) return options
  const { capture: _configured, ...recentCalls } = options.recentCalls
  return { ...options, recentCalls: { ...recentCalls, ...(capture === undefined ? {} : { capture }) } }
}

/** Adds the pages of the administrator. An `authorize` of the configuration admits its own callers, too. */
export function withAdmin(options: ConsoleOptions, admin: Admin | undefined, tokens: Tokens): ConsoleOptions {
  if (admin === undefined) return options
  const { recentCalls, usage } = options
  const isAdmin = bearerOf(admin.token)
  const orAdmin =
    (authorize: Authorize | undefined): Authorize =>
    (request) =>
      isAdmin(request) || (authorize?.(request) ?? false)
  return {
    ...options,
    recentCalls: { ...recentCalls, authorize: orAdmin(recentCalls?.authorize) },
    usage: { tokens: usage?.tokens ?? tokens, authorize: orAdmin(usage?.authorize) },
  }
}
