import type { FinishEvent, GatewayNotice, Plugin } from '@modelgate/core'
import { levelOf } from './call-failures.ts'
import { jsonCallLine, jsonLine } from './json-line.ts'
import { type LineLevel, type LogLevel, levelNumbers } from './levels.ts'
import { LineBuffer, writeToStdout } from './line-buffer.ts'
import { jsonMessage, type LevelLogger, prettyMessage } from './messages.ts'
import { noticeLine } from './notices.ts'
import { createPrettyLines } from './pretty-line.ts'
import { toLine } from './text.ts'

/** Options of `accessLog`. */
export interface AccessLogOptions {
  /**
   * `'pretty'`: for people, in colours on a terminal. `'json'`: one JSON object per line, as pino writes it. Default: `'pretty'` if standard
   * output is a terminal, else `'json'`.
   */
  readonly format?: 'pretty' | 'json'
  /** Lowest level that is logged. Default: `'info'`. */
  readonly level?: LogLevel
  /** Receives one or more whole lines, each with its line break. Default: writes to standard output. */
  readonly write?: (lines: string) => void
  /** Colours of the format `'pretty'`. Default: if standard output is a terminal. The variables `NO_COLOR` and `FORCE_COLOR` win. */
  readonly colors?: boolean
}

/** A plugin that logs calls, with a logger that writes to the same place. */
export interface AccessLog extends Plugin {
  onFinish(event: FinishEvent): void
  onNotice(notice: GatewayNotice): void
  /** Logs messages in the same format; pass it as `logger` to `createGateway` and `createTokens`. */
  readonly logger: LevelLogger
  /** Changes the format or level from now on. */
  configure(options: Pick<AccessLogOptions, 'format' | 'level'>): void
  /** Writes unwritten lines at once. Lines are also written before the next I/O of the process, and when it exits. */
  flush(): void
}

/**
 * Creates a plugin that logs one line for each call, and one for each notice: opened and closed circuit breakers, reloads, the start of a
 * shutdown. A line never contains content of requests or responses, a credential or a token.
 *
 * Levels: `error` for responses of 5xx and interrupted responses, `warn` for 4xx and for failed attempts before a successful one, `info`
 * for others. docs/operate/observability.md lists the fields.
 *
 * @throws TypeError for an unknown format or level
 *
 * @example
 * const log = accessLog()
 * createGateway({ auth, upstreams, models, plugins: [log], logger: log.logger })
 */
export function accessLog(options: AccessLogOptions = {}): AccessLog {
  const buffer = new LineBuffer(options.write ?? writeToStdout)
  const pretty = createPrettyLines(hasColors(options.colors))
  let isPretty = false
  let least: number = levelNumbers.info

  const configure: AccessLog['configure'] = ({ format, level }) => {
    if (format !== undefined && format !== 'pretty' && format !== 'json')
      throw new TypeError(`accessLog: format is '${format}'; use 'pretty' or 'json'`)
    if (level !== undefined && !Object.hasOwn(levelNumbers, level))
      throw new TypeError(`accessLog: level is '${level}'; use one of: ${Object.keys(levelNumbers).join(', ')}`)
    if (format !== undefined) isPretty = format === 'pretty'
    if (level !== undefined) least = levelNumbers[level]
  }
  configure({ format: options.format ?? (process.stdout.isTTY ? 'pretty' : 'json'), level: options.level ?? 'info' })

  const message =
    (level: LineLevel) =>
    (text: string, details?: unknown): void => {
      if (levelNumbers[level] < least) return
      buffer.add(isPretty ? prettyMessage(pretty, level, text, details) : jsonMessage(level, text, details))
    }
  return {
    name: 'access-log',
    logsAttempts: true,
    logger: { debug: message('debug'), info: message('info'), warn: message('warn'), error: message('error') },
    configure,
    flush: () => buffer.flush(),
    onFinish(event) {
      const level = levelOf(event)
      if (levelNumbers[level] < least) return
      buffer.add(
        isPretty
          ? pretty.call(level, event, `${nameOf(event).padEnd(10)} ${targetOf(event)}`)
          : jsonCallLine(level, event, `${nameOf(event)} ${targetOf(event)} ${event.status}`),
      )
    },
    onNotice(notice) {
      const { level, message, fields } = noticeLine(notice)
      if (levelNumbers[level] < least) return
      if (!isPretty) buffer.add(jsonLine(level, message, fields))
      else buffer.add(notice.kind === 'call-rejected' ? pretty.rejected(notice) : pretty.message(level, message))
    },
  }
}

/** Chat calls are named by the client's format. */
const nameOf = ({ operation, format }: FinishEvent): string => (operation === 'generate' ? format : operation)

/** Returns the model and the target that responded: `gpt-5 -> openai/gpt-5`. */
const targetOf = ({ model, upstream, upstreamModel }: FinishEvent): string =>
  upstream === undefined
    ? toLine(model)
    : `${toLine(model)} -> ${toLine(upstream)}${upstreamModel === undefined ? '' : `/${toLine(upstreamModel)}`}`

/** See no-color.org and force-color.org. */
function hasColors(configured: boolean | undefined): boolean {
  const { NO_COLOR, FORCE_COLOR } = process.env
  if (NO_COLOR) return false
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return configured ?? process.stdout.isTTY === true
}
