import { type ClientFormat, clientFormatRows, type DialectError } from './client-formats.ts'
import { type Json, objectOf, parseJson, textOf } from './json.ts'

/** One event of a client's stream. */
export interface ClientEvent {
  /** Empty without a name. */
  readonly event: string
  readonly data: string
  /** False if the input ended within the event. */
  readonly whole: boolean
}

/** Parses every event with data by the standard's algorithm, including an unfinished one at the end. */
export function readSse(stream: string): ClientEvent[] {
  // The grammar allows a byte order mark.
  const text = stream.replace(/^\uFEFF/, '')
  const sent: ClientEvent[] = []
  let event = ''
  let data: string[] = []
  const dispatch = (whole: boolean): void => {
    if (data.length > 0) sent.push({ event, data: data.join('\n'), whole })
    event = ''
    data = []
  }
  const lines = text.split(/\r\n|\n|\r/)
  // The text after the last line end is not a line yet.
  const rest = lines.pop() ?? ''
  const take = (line: string): void => {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const behind = colon < 0 ? '' : line.slice(colon + 1)
    const value = behind.startsWith(' ') ? behind.slice(1) : behind
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
  }
  for (const line of lines) {
    if (line === '') dispatch(true)
    else take(line)
  }
  take(rest)
  dispatch(false)
  return sent
}

const readLines = (stream: string): ClientEvent[] =>
  stream
    .split('\n')
    .flatMap((data, at, { length }) => (data.trim() === '' ? [] : [{ event: '', data, whole: at < length - 1 }]))

/** Frames are shown as server-sent events (`readableText`). */
const readers = { events: readSse, lines: readLines, frames: readSse } as const

/** Returns the events of a client's stream, in order. */
export const readEvents = (format: ClientFormat, stream: string): ClientEvent[] =>
  readers[clientFormatRows[format].framing](stream)

const typeOf = (value: Json | undefined): string => textOf(objectOf(value).type)

/** Events of a stream and what a client takes them for. */
export interface StreamReading {
  readonly events: readonly ClientEvent[]
  /** Indexes of the events that claim success, of errors, and of those with invalid JSON (except `[DONE]`). */
  readonly successes: readonly number[]
  readonly errors: readonly number[]
  readonly broken: readonly number[]
  /** Text of all deltas. */
  readonly text: string
}

/**
 * Reads a client's stream.
 *
 * @param byData takes the type in the data of server-sent events for their name, as clients do that ignore names
 */
export function readStream(format: ClientFormat, stream: string, byData = false): StreamReading {
  const { isSuccess, isError, delta, framing } = clientFormatRows[format]
  const events = readEvents(format, stream)
  const found = { successes: [] as number[], errors: [] as number[], broken: [] as number[] }
  let text = ''
  for (const [place, { data, event }] of events.entries()) {
    // White space and a byte order mark around the JSON are ignored.
    const parsed = parseJson(data.trim())
    // Gemini streams may be one array, and some servers send several elements per event.
    for (const value of Array.isArray(parsed) ? parsed : [parsed]) text += delta(objectOf(value))
    const values = Array.isArray(parsed) ? parsed : [parsed]
    const nameOf = (value: Json | undefined): string => (byData && framing === 'events' ? typeOf(value) : event)
    if (values.some((value) => isSuccess(value, nameOf(value), data))) found.successes.push(place)
    else if (values.some((value) => isError(value, nameOf(value), data))) found.errors.push(place)
    if (parsed === undefined && !['', '[DONE]'].includes(data.trim())) found.broken.push(place)
  }
  return { events, ...found, text }
}

/** Returns the first error of a stream; undefined without one, and for one in another shape than the dialect's. */
export function errorOf(format: ClientFormat, { events, errors }: StreamReading): DialectError | undefined {
  const found = events[errors[0] ?? -1]
  if (found === undefined) return undefined
  return clientFormatRows[format].readError(objectOf(parseJson(found.data)), { status: undefined, name: found.event })
}

/** Splits a stream at the ends of its events and comments, without further line ends. */
export const blocksOf = (format: ClientFormat, stream: string): string[] =>
  clientFormatRows[format].framing === 'lines'
    ? stream
        .split(/\n(?=.)/)
        .filter((line) => line !== '')
        .map((line) => line.replace(/\n$/, ''))
    : stream
        .replaceAll('\r\n', '\n')
        .split('\n\n')
        .slice(0, -1)
        .map((block) => block.replace(/^\n/, ''))
