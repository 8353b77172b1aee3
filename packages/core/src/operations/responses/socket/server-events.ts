import { concatBytes } from '../../../base/bytes.ts'
import { isObject, type JsonObject, stringifyExact } from '../../../base/json/json.ts'
import { parseObject } from '../../../base/json/parse.ts'
import type { Reply } from '../../../http/inbound.ts'
import { blockEnd } from '../../../http/sse/blocks.ts'

// Server-sent events as messages: each event becomes one text message with the event's JSON. The bytes of an event stay unless the
// message needs the lane, or headers that a WebSocket cannot send.

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const LF = 10
const CR = 13
const colon = 58
const space = 32
const openBrace = 123
const closeBrace = 125
const dataField = encoder.encode('data')
const eventField = encoder.encode('event')

/** Headers of a reply that describe its body or its transport, and mean nothing in a message. */
const transportHeaders: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'cache-control',
  'x-accel-buffering',
  'x-content-type-options',
  'connection',
])

/** The comment in which a stream reports losses that were found after its headers were sent. */
const lossComment = 'modelgate-loss '

const keepAlive = encoder.encode('"type":"keepalive"}')

/** Creates the messages of one response. */
export class ResponseMessages {
  /** The members that all messages of the lane have, as JSON text. */
  readonly #lane: string
  /** Headers for the next event. */
  #headers: Record<string, string> | undefined

  /** @param headers of the reply. They are sent with the first event */
  constructor(streamId: string | undefined, headers: Reply['headers']) {
    this.#lane = laneMember(streamId)
    this.#headers = messageHeaders(headers)
  }

  /** Returns the messages for a chunk of whole events. */
  push(chunk: Uint8Array): Uint8Array[] {
    const messages: Uint8Array[] = []
    for (let at = 0, end = 0; at < chunk.length; at = end) {
      end = blockEnd(chunk, at)
      const message = this.#messageOf(chunk.subarray(at, end))
      if (message !== undefined) messages.push(message)
    }
    return messages
  }

  #messageOf(block: Uint8Array): Uint8Array | undefined {
    const parts: Uint8Array[] = []
    let name: Uint8Array | undefined
    let comment: Uint8Array | undefined
    for (let at = 0; at < block.length; ) {
      let end = at
      while (end < block.length && block[end] !== LF && block[end] !== CR) end++
      if (block[at] === colon) comment = block.subarray(at + 1, end)
      else if (isField(block, at, end, dataField)) parts.push(fieldValue(block, at + dataField.length, end))
      else if (isField(block, at, end, eventField)) name = fieldValue(block, at + eventField.length, end)
      at = end + 1
    }
    if (parts.length === 0) return comment === undefined ? undefined : this.#commented(decoder.decode(comment).trim())
    // A line end within JSON is white space.
    const data = parts.length === 1 ? (parts[0] as Uint8Array) : concatBytes(parts)
    // `[DONE]` marks the end of some streams of events.
    if (data[0] !== openBrace) return undefined
    return this.#withMembers(name === undefined ? data : withType(data, name))
  }

  #commented(comment: string): Uint8Array | undefined {
    if (comment.startsWith(lossComment)) {
      this.#headers = { ...this.#headers, 'modelgate-loss': comment.slice(lossComment.length) }
      return undefined
    }
    // Some clients end a response after minutes without a message, whatever pings they receive.
    return concatBytes([encoder.encode(`{${this.#lane}`), keepAlive])
  }

  /** Inserts the lane, and headers that wait to be sent. */
  #withMembers(data: Uint8Array): Uint8Array {
    const headers = this.#headers
    this.#headers = undefined
    if (headers === undefined && this.#lane === '') return data
    const added = headers === undefined ? this.#lane : `${this.#lane}"headers":${JSON.stringify(headers)},`
    return insertMembers(data, added)
  }
}

const laneMember = (streamId: string | undefined): string =>
  streamId === undefined ? '' : `"stream_id":${JSON.stringify(streamId)},`

/** Returns the headers to send in a message; undefined if there are none. */
function messageHeaders(headers: Reply['headers']): Record<string, string> | undefined {
  const sent = Object.entries(headers).filter(([name]) => !transportHeaders.has(name))
  return sent.length === 0 ? undefined : Object.fromEntries(sent)
}

/** @param members as JSON text, each followed by a comma */
function insertMembers(object: Uint8Array, members: string): Uint8Array {
  let at = 1
  while (isBlank(object[at])) at++
  const added = object[at] === closeBrace ? members.slice(0, -1) : members
  return concatBytes([encoder.encode(`{${added}`), object.subarray(1)])
}

const isBlank = (byte: number | undefined): boolean => byte === space || byte === LF || byte === CR || byte === 9

/** Bytes in which a type is looked for before the event is parsed. */
const typeBytes = 64

/** Adds the type to an event that states it only in its name. */
function withType(data: Uint8Array, name: Uint8Array): Uint8Array {
  if (decoder.decode(data.subarray(0, typeBytes)).includes('"type":"')) return data
  const event = parseObject(decoder.decode(data))
  if (event === undefined || typeof event.type === 'string') return data
  return insertMembers(data, `"type":${JSON.stringify(decoder.decode(name))},`)
}

function isField(block: Uint8Array, at: number, end: number, field: Uint8Array): boolean {
  if (end - at <= field.length || block[at + field.length] !== colon) return false
  for (let i = 0; i < field.length; i++) if (block[at + i] !== field[i]) return false
  return true
}

/** Returns the value of a field, without the one space that may follow its colon. */
function fieldValue(block: Uint8Array, colonAt: number, end: number): Uint8Array {
  const from = colonAt + 1
  return block.subarray(block[from] === space ? from + 1 : from, end)
}

/** Returns the `error` message for a reply that rejects a request. */
export function errorMessage(reply: Reply, streamId: string | undefined): Uint8Array {
  const { status, body } = reply
  const text = typeof body === 'string' ? body : body instanceof Uint8Array ? decoder.decode(body) : ''
  const { error } = parseObject(text) ?? {}
  const headers = messageHeaders(reply.headers)
  const event: JsonObject = { type: 'error', status }
  if (streamId !== undefined) event.stream_id = streamId
  const shown: JsonObject = isObject(error) ? error : { type: 'server_error', code: null, message: '', param: null }
  // OpenAI's SDKs read the headers inside of the error, Codex reads them next to it.
  event.error = headers === undefined ? shown : { ...shown, headers }
  if (headers !== undefined) event.headers = headers
  return encoder.encode(stringifyExact(event))
}
