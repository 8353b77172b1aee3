import { createParser } from 'eventsource-parser'
import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'

/** One server-sent event: its joined data lines, and its name if it has one. The name `:` marks a comment. */
export interface SseEvent {
  event?: string | undefined
  data: string
}

const byteOrderMark = 0xfeff
const LF = 10
const CR = 13

/** Decodes a byte stream, split at any position, into complete server-sent events. */
export interface SseDecoder {
  push(chunk: Uint8Array): SseEvent[]
  pushText(text: string): SseEvent[]
  /**
   * Ends the input. An event that lacks only its closing blank line is returned; an incomplete event is not. A JSON object with an
   * `error` that is not part of an event is returned as an event: some servers fail mid-stream in this way.
   */
  end(): SseEvent[]
  /** Returns whether the stream contains the beginning of such an object. */
  hasBareObject(): boolean
}

/** Longer objects are no errors. */
const maxBareChars = 65_536

/**
 * Creates a decoder.
 *
 * @param maxEventChars largest unfinished event in characters; beyond it `push` throws GatewayError `upstream_bad_response`
 */
export function createSseDecoder(maxEventChars: number): SseDecoder {
  // Created on first use: callers that push text need none.
  let text: Utf8Decoder | undefined
  let events: SseEvent[] = []
  let overflow = false
  let begun = false
  let afterReturn = false
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: ({ event, data }) => events.push(event === undefined ? { data } : { event, data }),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') overflow = true
      else if (error.type === 'unknown-field' && error.line !== undefined) collectBareObject(error.line)
    },
  })
  let bareObject = ''
  const collectBareObject = (line: string): void => {
    if ((bareObject !== '' || line.startsWith('{')) && bareObject.length + line.length <= maxBareChars)
      bareObject += `${line}\n`
  }
  const drain = (): SseEvent[] => {
    if (overflow) throw eventTooLarge()
    const complete = events
    events = []
    return complete
  }
  /**
   * Passes only line feeds to the parser. The parser recognizes a byte order mark only as three characters. It also holds a line that ends
   * with a carriage return until more text arrives, which delays an event, and takes quadratic time on carriage returns.
   */
  const feed = (piece: string): void => {
    if (piece === '') return
    const skip = begun ? afterReturn && piece.charCodeAt(0) === LF : piece.charCodeAt(0) === byteOrderMark
    begun = true
    afterReturn = piece.charCodeAt(piece.length - 1) === CR
    const rest = skip ? piece.slice(1) : piece
    parser.feed(rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest)
  }
  const pushText = (piece: string): SseEvent[] => {
    feed(piece)
    return drain()
  }
  return {
    push(chunk) {
      text ??= new Utf8Decoder()
      return pushText(text.push(chunk))
    },
    pushText,
    end() {
      feed(`${text?.end() ?? ''}\n\n`)
      const events = drain().filter(({ data }) => isWhole(data))
      const error = bareObject === '' ? undefined : bareError(bareObject)
      return error === undefined ? events : [...events, { data: error }]
    },
    hasBareObject: () => bareObject !== '',
  }
}

let blockEvents: SseEvent[] = []
let isIrregular = false
/** Shared by all calls: a complete block leaves no state in the parser. */
const blockParser = createParser({
  onEvent: ({ event, data }) => blockEvents.push(event === undefined ? { data } : { event, data }),
  onError: () => {
    isIrregular = true
  },
})

/**
 * Decodes text that ends with a blank line. Returns undefined for text that requires a decoder of the whole stream: text with carriage
 * returns, a byte order mark, or lines that are no fields.
 */
export function decodeBlock(text: string): SseEvent[] | undefined {
  if (text.charCodeAt(0) === byteOrderMark || text.includes('\r') || !text.endsWith('\n\n')) return undefined
  blockParser.feed(text)
  const events = blockEvents
  blockEvents = []
  if (!isIrregular) return events
  isIrregular = false
  return undefined
}

function bareError(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'error' in value ? JSON.stringify(value) : undefined
  } catch {
    return undefined
  }
}

/** Creates the error for an event beyond the size limit. */
export const eventTooLarge = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent a stream event that is too large.')

/** Returns whether data at the end of a stream is complete: a truncated event contains invalid JSON. Some streams end with `[DONE]`. */
function isWhole(data: string): boolean {
  if (data.startsWith('[') && data.endsWith(']')) return true
  try {
    JSON.parse(data)
    return true
  } catch {
    return false
  }
}

const wholeDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Decodes UTF-8 in pieces, as a TextDecoder with `stream` does. ASCII pieces are decoded independently: that takes a seventh of the time
 * on Node and yields strings of half the size, on which all further work is faster.
 */
export class Utf8Decoder {
  #stream: TextDecoder | undefined
  #begun = false
  /** The streaming decoder may hold an incomplete character. */
  #mayHoldPart = false
  /** The last piece was not ASCII, so the next one probably is not either: independent decoding would then be slower. */
  #wasWide = false

  push(bytes: Uint8Array): string {
    const { length } = bytes
    if (length === 0) return ''
    const closed = (bytes[length - 1] as number) < 0x80
    let text: string
    // The streaming decoder removes a byte order mark at the beginning.
    if (closed && !this.#wasWide && !this.#mayHoldPart && (this.#begun || (bytes[0] as number) < 0x80))
      text = wholeDecoder.decode(bytes)
    else {
      this.#stream ??= new TextDecoder('utf-8', { ignoreBOM: this.#begun })
      text = this.#stream.decode(bytes, { stream: true })
      this.#mayHoldPart = !closed
    }
    this.#begun = true
    this.#wasWide = text.length !== length
    return text
  }

  /** Returns the replacement for an incomplete character at the end. */
  end(): string {
    return this.#stream?.decode() ?? ''
  }
}

const opens = (char: number): boolean => char === 0x7b || char === 0x5b // { [
const closes = (char: number): boolean => char === 0x7d || char === 0x5d // } ]
const isBlank = (char: number): boolean => char === 0x20 || (char >= 0x09 && char <= 0x0d)

/**
 * Checks the first and last character of an event. Half an event within a stream would leave a gap in a response that then ends
 * normally. Parsing each event would cost more than the rest of a tap.
 *
 * @throws GatewayError `upstream_bad_response` if the event cannot be JSON
 */
export function checkJsonEnds(data: string): void {
  let from = 0
  let to = data.length - 1
  while (from < to && isBlank(data.charCodeAt(from))) from++
  while (to > from && isBlank(data.charCodeAt(to))) to--
  if (opens(data.charCodeAt(from)) && closes(data.charCodeAt(to)) && to > from) return
  throw invalidEventError()
}

/** Parses an event. Throws as `checkJsonEnds` does. */
export function parseEventObject(data: string): JsonObject {
  const value = parseObject(data)
  if (value === undefined) throw invalidEventError()
  return value
}

/** Creates the error for an event that is not JSON. */
export const invalidEventError = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent a stream event that is not JSON.')
