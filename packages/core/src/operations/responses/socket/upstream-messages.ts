import { editJson } from '../../../base/json/edit.ts'
import { isObject, type JsonObject, type Member, scanJson } from '../../../base/json/json.ts'
import { parseObject } from '../../../base/json/parse.ts'
import type { Continuation } from '../records.ts'

// Messages of an upstream's WebSocket as server-sent events and as responses of HTTP, and requests as messages.

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Members that belong to the upstream's connection, and that the client's connection writes itself. */
const upstreamConnectionMembers: readonly string[] = ['headers', 'stream_id']

/** Types of messages after which the response is complete. */
const terminalTypes: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'response.done',
])

/** Terminal types of responses that a request on the same WebSocket can continue. */
const continuableTypes: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.done'])

/** The beginning of most messages. Others are parsed. */
const typeFirst = /^\s*\{\s*"type"\s*:\s*"([\w.-]+)"/
/** Number of bytes in which `typeFirst` is looked for. */
const typeBytes = 96

/**
 * Returns whether a message of this type states neither that a response has begun nor that it is refused. OpenAI sends some of them
 * before both (`codex.rate_limits`). A message without a type is malformed.
 */
export const isInformational = (type: string): boolean =>
  type === 'response.rate_limits.updated' || (type !== '' && type !== 'error' && !type.startsWith('response.'))

/** Types that can be the name of an event. A line end would begin another field. */
const typeShape = /^[\w.-]+$/

/** A message of an upstream. */
export interface UpstreamMessage {
  readonly type: string
  /** The server-sent event that HTTP would have sent. */
  readonly event: Uint8Array
  /** No further message of the response follows. */
  readonly isTerminal: boolean
  /** The id of the response, if this message completed one that can be continued. */
  readonly completed?: string | undefined
}

/** Reads a message. Only messages that begin or end a response, and those of an unusual shape, are decoded further than their type. */
export function readUpstreamMessage(data: Uint8Array, isFirst: boolean): UpstreamMessage {
  const found = typeFirst.exec(decoder.decode(data.subarray(0, typeBytes)))?.[1]
  const isTerminal = found !== undefined && terminalTypes.has(found)
  if (found !== undefined && found !== 'keepalive' && !isFirst && !isTerminal)
    return { type: found, event: eventOf(found, data), isTerminal }
  const text = decoder.decode(data)
  const message = parseObject(text)
  const type = typeof message?.type === 'string' && typeShape.test(message.type) ? message.type : ''
  // The connection of a silent response sends these in place of comments.
  if (type === 'keepalive') return { type, event: encoder.encode(': keepalive\n\n'), isTerminal: false }
  const members = message === undefined ? [] : scanJson(text, Number.POSITIVE_INFINITY).members
  const hasOwn = members.some(({ key }) => upstreamConnectionMembers.includes(key))
  const event = eventOf(type, hasOwn ? encoder.encode(editJson(text, members, {}, upstreamConnectionMembers)) : data)
  return {
    type,
    event,
    isTerminal: terminalTypes.has(type),
    completed: continuableTypes.has(type) ? idIn(message) : undefined,
  }
}

const idIn = (message: JsonObject | undefined): string | undefined =>
  isObject(message?.response) && typeof message.response.id === 'string' ? message.response.id : undefined

const lineFeed = 10
const carriageReturn = 13

/** Writes JSON as an event. Its bytes stay, unless they contain line ends, which JSON allows between members only. */
function eventOf(type: string, data: Uint8Array): Uint8Array {
  const head = encoder.encode(type === '' ? 'data: ' : `event: ${type}\ndata: `)
  const event = new Uint8Array(head.length + data.length + 2)
  event.set(head)
  event.set(data, head.length)
  event.fill(lineFeed, event.length - 2)
  for (let at = head.length; at < event.length - 2; at++)
    if (event[at] === lineFeed || event[at] === carriageReturn) event[at] = 32
  return event
}

/** An `error` message in place of a response, as HTTP would have sent it. */
export interface UpstreamRefusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly code: string | undefined
}

/** Reads an `error` message that is the first one of its response. */
export function readRefusal(data: Uint8Array): UpstreamRefusal {
  const message = parseObject(decoder.decode(data)) ?? {}
  const { headers: inner, ...error } = isObject(message.error) ? message.error : flatError(message)
  return {
    status: statusOf(message.status ?? message.status_code, error.type),
    headers: { ...textMembers(inner), ...textMembers(message.headers), 'content-type': 'application/json' },
    body: encoder.encode(JSON.stringify({ error })),
    code: typeof error.code === 'string' ? error.code : undefined,
  }
}

/** Returns the error of a message whose members are those of the error. */
function flatError({ type: _, status: __, headers: ___, sequence_number: ____, ...error }: JsonObject): JsonObject {
  return error
}

const isErrorStatus = (status: unknown): status is number =>
  typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599

const statusOf = (status: unknown, type: unknown): number =>
  isErrorStatus(status) ? status : type === 'invalid_request_error' ? 400 : 500

/** Returns the headers in a message, by lower-case name. */
function textMembers(value: unknown): Record<string, string> {
  if (!isObject(value)) return {}
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(texts.map(([name, text]) => [name.toLowerCase(), text]))
}

/** A body that can be sent as a message, with or without the conversation before it. */
export interface SocketRequest {
  /** The message with the whole input. */
  whole(): string
  /** Returns the message that continues this response of the WebSocket; undefined if the request does not continue it. */
  continuing(latestId: string | undefined): string | undefined
}

/**
 * Creates the messages of a body.
 *
 * @param continuation of the request. It is used only if the body still has its input: a target's `overrides`, for example, may have
 * changed it
 */
export function socketRequest(body: string, continuation: Continuation | undefined): SocketRequest {
  const { members } = scanJson(body, Number.POSITIVE_INFINITY)
  return {
    whole: () => createMessage(body, members, {}),
    continuing(latestId) {
      if (continuation === undefined || latestId !== continuation.id) return undefined
      const [input, ...repeated] = members.filter(({ key }) => key === 'input')
      if (input === undefined || repeated.length > 0) return undefined
      if (body.slice(input.start, input.end) !== continuation.whole) return undefined
      return createMessage(body, members, { previous_response_id: latestId, input: [...continuation.added] })
    },
  }
}

/** Returns a `response.create` message. All messages are streamed, so the member `stream` is left out. */
function createMessage(body: string, members: readonly Member[], set: JsonObject): string {
  const edited = editJson(body, members, set, ['stream', 'type'])
  return `{"type":"response.create",${edited.slice(1)}`
}
