import type { Logger } from '@modelgate/core'
import { jsonLine } from './json-line.ts'
import type { LineLevel } from './levels.ts'
import type { PrettyLines } from './pretty-line.ts'
import { escaped } from './text.ts'

/** A logger with all levels. `details`: an Error, or an object with further fields of JSON lines. */
export interface LevelLogger extends Logger {
  debug(message: string, details?: unknown): void
  info(message: string, details?: unknown): void
}

/** Lines name their program elsewhere. */
const withoutPrefix = (message: string): string => message.replace(/^modelgate: /, '')

/** Returns the line of a logger's message. */
export function jsonMessage(level: LineLevel, message: string, details: unknown): string {
  return jsonLine(
    level,
    withoutPrefix(message),
    details === undefined
      ? {}
      : details instanceof Error
        ? { err: errorFields(details, level === 'error') }
        : isFields(details)
          ? serializable(details)
          : { details: String(details) },
  )
}

/** Returns the line of a logger's message. Only errors of the gateway itself add their stack, on further lines. */
export function prettyMessage(lines: PrettyLines, level: LineLevel, message: string, details: unknown): string {
  const text = escaped(withoutPrefix(message))
  if (!(details instanceof Error))
    return lines.message(level, text, typeof details === 'string' ? [escaped(details)] : [])
  const { code } = errorFields(details, false)
  const reason = escaped(details.message)
  return lines.message(level, reason === '' || text.includes(reason) ? text : `${text}: ${reason}`, [
    code === undefined || reason.includes(code) ? '' : code,
    level === 'error' ? escaped(firstFrame(details)) : '',
  ])
}

const isFields = (details: unknown): details is Readonly<Record<string, unknown>> =>
  typeof details === 'object' && details !== null && !Array.isArray(details)

/** A logger must not throw for values without JSON, such as cycles. */
function serializable(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    JSON.stringify(details)
    return details
  } catch {
    return { details: String(details) }
  }
}

/** Fields of an error as pino writes them. */
const errorFields = (error: Error, hasStack: boolean) => ({
  type: error.name,
  message: error.message,
  ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
  ...(hasStack ? { stack: error.stack } : {}),
})

/** Returns the place in the code that threw an error: `at decode (file:///…/decode.js:12:3)`. */
const firstFrame = ({ stack }: Error): string => /^\s+(at .*)$/m.exec(stack ?? '')?.[1] ?? ''
