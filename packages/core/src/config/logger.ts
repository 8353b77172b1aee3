import { runSilently } from '../base/async.ts'
import type { Logger } from './config.ts'

// Loggers differ in how they receive an error. With the wrong call they drop it without a trace:
//
//   console   error(message, details)           prints the details
//   pino      error(error, message)             treats arguments after a message as its placeholders
//   winston   error({ message, error })         copies enumerable members of a second argument only, and none if the message has a `%s`

const silent: Logger = { warn() {}, error() {} }

/**
 * Returns a logger that passes complete errors to `console`, pino, winston, or a logger with the signature of one of them, and that never
 * throws or rejects: a logger that fails must not fail a call.
 *
 * @param logger a logger without one of the functions loses its messages. `false`: no output. Default: `console`
 *
 * @example const logger = toLogger(pino())
 */
export function toLogger(logger: Partial<Logger> | false | undefined): Logger {
  if (logger === false) return silent
  const given: Partial<Logger> = logger ?? console
  const write = isPino(given) ? writePino : isWinston(given) ? writeWinston : writeConsole
  return {
    warn: (message, details) => runSilently(() => write(given as AnyLogger, 'warn', message, details)),
    error: (message, details) => runSilently(() => write(given as AnyLogger, 'error', message, details)),
  }
}

/** The methods of any logger, as they are called at run time. */
type AnyLogger = { readonly [level in 'warn' | 'error']?: (...all: readonly unknown[]) => unknown }
type Write = (logger: AnyLogger, level: 'warn' | 'error', message: string, details: unknown) => unknown

const writeConsole: Write = (logger, level, message, details) =>
  details === undefined ? logger[level]?.(message) : logger[level]?.(message, details)

const writePino: Write = (logger, level, message, details) => {
  if (details === undefined) return logger[level]?.(message)
  // As first argument, an error gets the key and the serializer that the logger is configured with.
  return logger[level]?.(details instanceof Error ? details : { details }, message)
}

const writeWinston: Write = (logger, level, message, details) => {
  if (details === undefined) return logger[level]?.({ message })
  if (!(details instanceof Error)) return logger[level]?.({ message, details })
  // Formats that print only the message show the reason, as they do for errors that are passed to winston itself.
  return logger[level]?.({ message: `${message}: ${details.message}`, error: plainError(details) })
}

/** pino's own loggers and children, fastify's included. */
const isPino = (logger: object): boolean => has(logger, 'bindings') && has(logger, 'child')

/** winston's loggers, and the module itself. */
const isWinston = (logger: object): boolean => 'transports' in logger && has(logger, 'configure')

const has = (logger: object, name: string): boolean =>
  typeof (logger as { readonly [name: string]: unknown })[name] === 'function'

/** Causes of causes that are shown. */
const maxDepth = 5

/** Returns an error as an object whose members JSON shows: those of an Error are not enumerable. */
function plainError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error) || depth > maxDepth) return error instanceof Error ? error.message : error
  const { name, message, stack, cause } = error
  const own = Object.entries(error).filter(([, value]) => value !== null && typeof value !== 'object')
  const errors = error instanceof AggregateError ? error.errors.map((one) => plainError(one, depth + 1)) : undefined
  return {
    ...Object.fromEntries(own),
    name,
    message,
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined ? {} : { cause: plainError(cause, depth + 1) }),
    ...(errors === undefined ? {} : { errors }),
  }
}
