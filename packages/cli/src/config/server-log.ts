import { type AccessLog, type AccessLogOptions, accessLog, type LogLevel } from '@modelgate/node/logs'
import type { CommandContext } from '../terminal/command-context.ts'
import { didYouMean } from '../terminal/did-you-mean.ts'
import { FlagOrEnvironmentError } from '../terminal/errors.ts'
import type { ModelgateConfig } from './define-config.ts'

/** Flags of `start` that configure the log. */
export interface LogFlags {
  readonly log?: string | undefined
  readonly logLevel?: string | undefined
}

/** Format and level of the log. */
export type LogSettings = Required<Pick<AccessLogOptions, 'format' | 'level'>>

export const logFormats = ['pretty', 'json', 'off'] as const
export const logLevels = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]

/** Values of `LOG_LEVEL` that other programs of the same environment use. */
const otherLevels: Readonly<Record<string, LogLevel>> = {
  trace: 'debug',
  verbose: 'debug',
  http: 'info',
  notice: 'info',
  warning: 'warn',
  fatal: 'error',
  critical: 'error',
  silent: 'silent',
  off: 'silent',
}

/** Returns the settings of the log: flags win over the environment, the environment over the file. Throws an Error that names the invalid setting. */
export function logSettingsOf(
  flags: LogFlags,
  { env, isTerminal }: Pick<CommandContext, 'env' | 'isTerminal'>,
  config: ModelgateConfig,
): LogSettings {
  const format =
    flags.log === undefined
      ? oneOf('log', config.log, logFormats, Error)
      : oneOf('--log', flags.log, logFormats, FlagOrEnvironmentError)
  const level =
    flags.logLevel === undefined
      ? (levelOfEnvironment(env.LOG_LEVEL) ?? oneOf('logLevel', config.logLevel, logLevels, Error))
      : oneOf('--log-level', flags.logLevel, logLevels, FlagOrEnvironmentError)
  return {
    format: format === undefined || format === 'off' ? (isTerminal === true ? 'pretty' : 'json') : format,
    level: format === 'off' ? 'silent' : (level ?? 'info'),
  }
}

function levelOfEnvironment(value: string | undefined): LogLevel | undefined {
  if (!value) return undefined
  const name = value.toLowerCase()
  return Object.hasOwn(otherLevels, name)
    ? otherLevels[name]
    : oneOf('LOG_LEVEL', name, logLevels, FlagOrEnvironmentError)
}

/** Returns a value if it is one of the allowed ones, undefined if it is not set. Throws an Error that names the setting. */
export function oneOf<T extends string>(
  name: string,
  value: unknown,
  values: readonly T[],
  problem: new (message: string) => Error,
): T | undefined {
  if (value === undefined) return undefined
  const found = values.find((one) => one === value)
  if (found === undefined) throw new problem(`Invalid ${name} '${String(value)}'. ${didYouMean(String(value), values)}`)
  return found
}

/** The log of a server. */
export interface ServerLog {
  readonly plugin: AccessLog
  /** Writes the lines that were held back until the startup message is printed, and all further ones at once. */
  release(): void
  /** Adds the reason to the line about draining, such as a signal. */
  shutDown(reason: string, hint: string): void
}

/** Creates the log of a server. Its lines follow the startup message; a server that fails to start reports only the failure. */
export function createServerLog(settings: LogSettings, { out, isTerminal = false }: CommandContext): ServerLog {
  let held: string[] | undefined = []
  const log = accessLog({
    ...settings,
    colors: isTerminal,
    write(lines) {
      const text = lines.slice(0, -1)
      if (held === undefined) out(text)
      else held.push(text)
    },
  })
  let stopping: { readonly reason: string; readonly hint: string } | undefined
  return {
    plugin: {
      ...log,
      onNotice(notice) {
        if (notice.kind !== 'drain-started' || stopping === undefined) {
          log.onNotice(notice)
          return
        }
        const { activeCalls } = notice
        const calls = `${activeCalls} in-flight ${activeCalls === 1 ? 'request' : 'requests'}`
        log.logger.info(`${stopping.reason}: draining ${calls} (${stopping.hint} to force quit)`, {
          event: notice.kind,
          activeCalls,
        })
        // The next event can be far away: the process waits for the calls.
        log.flush()
      },
    },
    release() {
      log.flush()
      const lines = held ?? []
      held = undefined
      for (const line of lines) out(line)
    },
    shutDown(reason, hint) {
      stopping = { reason, hint }
    },
  }
}
