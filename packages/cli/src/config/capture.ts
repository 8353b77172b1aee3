import type { CaptureLimits, RecentCallsOptions } from '@modelgate/console'
import type { Env } from '../terminal/command-context.ts'
import { FlagOrEnvironmentError } from '../terminal/errors.ts'
import type { ModelgateConfig } from './define-config.ts'
import { isRecord } from './expand.ts'
import { oneOf } from './server-log.ts'

export const captures = ['bodies', 'off'] as const
type Capture = (typeof captures)[number]

/** The flag of `start` that captures bodies. */
export interface CaptureFlags {
  readonly capture?: string | undefined
}

/**
 * Returns what the recent calls capture; undefined: no content. The flag wins over the environment, the environment over the file, whose limits
 * apply in any case. Throws an Error that names the invalid setting.
 */
export function captureOf(flags: CaptureFlags, env: Env, config: ModelgateConfig): RecentCallsOptions['capture'] {
  const { capture: configured, console: pages } = config
  const limits = limitsIn(configured)
  const set: Capture | undefined =
    oneOf('--capture', flags.capture, captures, FlagOrEnvironmentError) ??
    oneOf('MODELGATE_CAPTURE', env.MODELGATE_CAPTURE || undefined, captures, FlagOrEnvironmentError) ??
    (limits === undefined ? oneOf('capture', configured, captures, Error) : 'bodies')
  if (set === 'off') return undefined
  const ofPages = typeof pages === 'object' ? pages.recentCalls?.capture : undefined
  return set === undefined ? ofPages : (limits ?? ofPages ?? 'bodies')
}

function limitsIn(configured: unknown): CaptureLimits | undefined {
  if (!isRecord(configured)) return undefined
  for (const [name, bytes] of Object.entries(configured)) {
    if (!limitNames.has(name))
      throw new Error(`Unknown setting 'capture.${name}'. Known: ${[...limitNames].join(', ')}.`)
    if (!Number.isSafeInteger(bytes) || Number(bytes) < 1)
      throw new Error(`capture.${name} is ${String(bytes)}: set it to a whole number of bytes greater than 0.`)
  }
  return configured
}

const limitNames: ReadonlySet<string> = new Set<keyof CaptureLimits>(['maxBodyBytes', 'maxTotalBytes'])

/** Returns the note for the startup message and reloads, since captured content is personal data of callers. */
export function captureNotes(capture: RecentCallsOptions['capture'], isShown: boolean): readonly string[] {
  if (capture === undefined) return []
  return isShown
    ? ['the contents of calls are kept in memory (capture: bodies), for everyone who may read the recent calls']
    : ['bodies are not captured, because the server has no recent calls: set MODELGATE_ADMIN_TOKEN']
}
