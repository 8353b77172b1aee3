import type { CallRejected, FinishEvent, Identity } from '@modelgate/core'
import { describeFailure, describeMessage, levelOfStatus } from './call-failures.ts'
import { maxLossFields } from './json-line.ts'
import type { LineLevel } from './levels.ts'
import { toLine } from './text.ts'

/** Widths of columns grow to this number of characters at most. */
const maxColumn = 44

const codes = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2 } as const

const levelColors = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' } as const satisfies Readonly<
  Record<LineLevel, keyof typeof codes>
>

/** Formats lines for terminals. */
export interface PrettyLines {
  /** @param details further parts of the line, such as a request id; dimmed */
  message(level: LineLevel, message: string, details?: readonly string[]): string
  /** A request that did not become a call to a model. */
  rejected(notice: CallRejected): string
  /** @param call name of the operation, the model and its target */
  call(level: LineLevel, event: FinishEvent, call: string): string
}

export function createPrettyLines(hasColors: boolean): PrettyLines {
  const color = (name: keyof typeof codes, text: string): string =>
    hasColors && text !== '' ? `\u001b[${codes[name]}m${text}\u001b[0m` : text
  let width = 0
  const start = (level: LineLevel): string =>
    `${color('dim', clock(new Date()))} ${color(levelColors[level], level.padEnd(5))}`
  const column = (text: string): string => {
    width = Math.max(width, Math.min(text.length, maxColumn))
    return text.padEnd(width)
  }
  return {
    message(level, message, details = []) {
      const rest = details.filter((part) => part !== '')
      return `${start(level)} ${message}${rest.length === 0 ? '' : `  ${color('dim', rest.join('  '))}`}`
    },
    rejected(notice) {
      const { method, path, status, error, message, durationMs, identity, requestId } = notice
      const level = levelOfStatus(status)
      const parts = [
        `${start(level)} ${column(`${toLine(method).padEnd(10)} ${toLine(path)}`)}`,
        color(levelColors[level], String(status)),
        duration(durationMs).padStart(6),
        color(levelColors[level], `${error}: ${describeMessage(message)}`),
        callerOf(identity),
        color('dim', toLine(requestId)),
      ]
      return parts.filter((part) => part !== '').join('  ')
    },
    call(level, event, call) {
      const { status, usage, cost, losses, identity, requestId } = event
      const failure = level === 'info' && event.outcome === 'finished' ? '' : describeFailure(event)
      const parts = [
        `${start(level)} ${column(call)}`,
        color(level === 'info' ? (status === 499 ? 'dim' : 'green') : levelColors[level], String(status)),
        timesOf(event),
        failure === '' ? '' : color(levelColors[level], failure),
        usage === undefined ? '' : `in ${usage.input.total} out ${usage.output.total}`,
        // A call that failed before the model worked costs nothing.
        cost === undefined || cost.amount === 0 ? '' : money(cost.amount, cost.currency),
        lossesOf(losses.map(({ path }) => path)),
        callerOf(identity),
        color('dim', toLine(requestId)),
      ]
      return parts.filter((part) => part !== '').join('  ')
    },
  }
}

/** Local time of day. */
const clock = (date: Date): string =>
  [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')

/** Formats a duration: `31 ms`, `1.2 s`. */
export const duration = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 100_000 ? 1 : 0)} s`

const timesOf = ({ durationMs, firstEventMs, stream }: FinishEvent): string =>
  `${duration(durationMs).padStart(6)}${stream && firstEventMs !== undefined ? ` (first ${duration(firstEventMs)})` : ''}`

/** Formats an amount with at least two significant digits. */
function money(amount: number, currency: string): string {
  const text = amount === 0 || amount >= 0.01 ? amount.toFixed(2 + Number(amount < 1)) : amount.toPrecision(2)
  return currency === 'USD' ? `$${text}` : `${text} ${toLine(currency)}`
}

function lossesOf(paths: readonly string[]): string {
  if (paths.length === 0) return ''
  const more = paths.length > maxLossFields ? ', …' : ''
  return `${paths.length === 1 ? '1 loss' : `${paths.length} losses`} (${paths.slice(0, maxLossFields).map(toLine).join(', ')}${more})`
}

/** Names the caller: `token laptop` for an identity with a name, else its id. */
const callerOf = (identity: Identity | null): string =>
  identity === null
    ? ''
    : typeof identity.name === 'string'
      ? `token ${toLine(identity.name)}`
      : `caller ${toLine(String(identity.id))}`
