import { createParser } from 'eventsource-parser'
import { GatewayError } from '../../base/errors.ts'
import type { SseEvent } from './event.ts'

const byteOrderMark = 0xfeff
const LF = 10
const CR = 13

/** Bytes in, whole server-sent events out, at any split of the bytes. */
export interface SseDecoder {
  push(chunk: Uint8Array): SseEvent[]
  pushText(text: string): SseEvent[]
  /**
   * Ends the input. An event that lacks only its closing blank line is still given out; half an event is not. So is a JSON
   * object that tells of an error: some servers fail in mid-stream without making an event of it.
   */
  end(): SseEvent[]
  /** Whether a line began such an object. */
  readonly hasBareObject: boolean
}

/** No error is longer; what is, is something else. */
const maxBareChars = 65_536

/**
 * @param maxEventChars cap of one unfinished event; beyond it `push` throws `upstream_bad_response`.
 */
export function createSseDecoder(maxEventChars: number): SseDecoder {
  // Only who pushes bytes needs one of its own.
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
      else if (error.type === 'unknown-field' && error.line !== undefined) keepBare(error.line)
    },
  })
  let bare = ''
  const keepBare = (line: string): void => {
    if ((bare !== '' || line.startsWith('{')) && bare.length + line.length <= maxBareChars) bare += `${line}\n`
  }
  const take = (): SseEvent[] => {
    if (overflow) throw eventTooLarge()
    const taken = events
    events = []
    return taken
  }
  /**
   * The parser gets line feeds only. It takes a byte order mark only as three characters, holds back a line that ends in a
   * carriage return until more comes (an event too late, where events are judged one by one), and is quadratic on them.
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
    return take()
  }
  return {
    push(chunk) {
      text ??= new Utf8Decoder()
      return pushText(text.push(chunk))
    },
    pushText,
    end() {
      feed(`${text?.end() ?? ''}\n\n`)
      const events = take().filter(({ data }) => isWhole(data))
      const error = bare === '' ? undefined : bareError(bare)
      return error === undefined ? events : [...events, { data: error }]
    },
    get hasBareObject() {
      return bare !== ''
    },
  }
}

let whole: SseEvent[] = []
let odd = false
/** One for all: a whole block leaves nothing behind in it. */
const parser = createParser({
  onEvent: ({ event, data }) => whole.push(event === undefined ? { data } : { event, data }),
  onError: () => {
    odd = true
  },
})

/**
 * The events of text that ends with a blank line, or undefined for text that only a decoder of the stream can read: with
 * carriage returns, a byte order mark, or lines that are no fields.
 */
export function decodeBlock(text: string): SseEvent[] | undefined {
  if (text.charCodeAt(0) === byteOrderMark || text.includes('\r') || !text.endsWith('\n\n')) return undefined
  parser.feed(text)
  const events = whole
  whole = []
  if (!odd) return events
  odd = false
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

export const eventTooLarge = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent a stream event that is too large.')

/** An event cut in its middle holds broken JSON; a bare word in brackets is the one other thing streams end with. */
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
 * Decodes UTF-8 in pieces, as a TextDecoder with `stream` does. Pieces that are ASCII are decoded one by one: that takes a
 * seventh of the time on Node, and gives strings of half the size, which all that is done with them is faster for.
 */
export class Utf8Decoder {
  #stream: TextDecoder | undefined
  #begun = false
  /** The streaming decoder may hold half a character. */
  #half = false
  /** The piece before was not ASCII, and so is the next, most likely: one by one it would take longer. */
  #wide = false

  push(bytes: Uint8Array): string {
    const { length } = bytes
    if (length === 0) return ''
    const closed = (bytes[length - 1] as number) < 0x80
    let text: string
    // A byte order mark at the beginning goes.
    if (closed && !this.#wide && !this.#half && (this.#begun || (bytes[0] as number) < 0x80))
      text = wholeDecoder.decode(bytes)
    else {
      this.#stream ??= new TextDecoder('utf-8', { ignoreBOM: this.#begun })
      text = this.#stream.decode(bytes, { stream: true })
      this.#half = !closed
    }
    this.#begun = true
    this.#wide = text.length !== length
    return text
  }

  /** What half a character at the end comes to. */
  end(): string {
    return this.#stream?.decode() ?? ''
  }
}
