import { concatBytes, fromBase64, toBase64 } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { parseObject } from '../../base/json/parse.ts'
import type { EventFrame } from '../frames/frame-decoder.ts'
import { encodeFrame, encodeHeaders } from '../frames/frame-encoder.ts'
import type { SseEvent } from '../sse/sse.ts'
import { type EventWriter, type FrameFraming, isJsonEvent } from './framing.ts'

// AWS's event stream encoding. A frame is an event or an exception; its headers name the type.

const contentType = 'application/vnd.amazon.eventstream'

/** Each event is a frame of its name, with the event's data as payload. */
export const namedFrames: FrameFraming = {
  name: 'named-frames',
  contentType,
  open: () => new FrameWriter(({ event, data }) => ({ type: event ?? 'chunk', payload: data })),
  read: (frame) => readFrame(frame, (event, data) => ({ event, data })),
}

/** Each event is a frame `chunk` with the event's data in base64, as InvokeModel sends the events of a model's own format. */
export const chunkFrames: FrameFraming = {
  name: 'chunk-frames',
  contentType,
  open: () =>
    new FrameWriter(({ data }) => ({ type: 'chunk', payload: `{"bytes":"${toBase64(encoder.encode(data))}"}` })),
  read: (frame) => readFrame(frame, unwrap),
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Returns whether an event is an exception, by its name. */
const isException = (name: string | undefined): boolean => name?.endsWith('xception') === true

/** Names of events that a writer keeps encoded. An upstream may send events with other names, too. */
const maxKnownNames = 32

class FrameWriter implements EventWriter {
  readonly #frameOf: (event: SseEvent) => { readonly type: string; readonly payload: string }
  readonly #headers = new Map<string, Uint8Array>()
  readonly #ready: Uint8Array[] = []

  constructor(frameOf: (event: SseEvent) => { readonly type: string; readonly payload: string }) {
    this.#frameOf = frameOf
  }

  write(events: readonly SseEvent[]): void {
    for (const event of events) if (isJsonEvent(event)) this.#ready.push(this.#encode(event))
  }

  end(): void {}

  take(): Uint8Array | undefined {
    return this.#ready.length === 0 ? undefined : concatBytes(this.#ready.splice(0))
  }

  heartbeat(own: () => readonly SseEvent[]): Uint8Array {
    const frames = own().flatMap((event) => (isJsonEvent(event) ? [this.#encode(event)] : []))
    return frames.length === 0 ? keepAlive : concatBytes(frames)
  }

  #encode(event: SseEvent): Uint8Array {
    if (isException(event.event))
      return encodeFrame(this.#headersFor('exception', event.event ?? ''), encoder.encode(event.data))
    const { type, payload } = this.#frameOf(event)
    return encodeFrame(this.#headersFor('event', type), encoder.encode(payload))
  }

  #headersFor(kind: 'event' | 'exception', type: string): Uint8Array {
    let headers = this.#headers.get(type)
    if (headers !== undefined) return headers
    headers = headersOf(kind, type)
    if (this.#headers.size < maxKnownNames) this.#headers.set(type, headers)
    return headers
  }
}

const longestName = 1000

const headersOf = (kind: 'event' | 'exception', type: string): Uint8Array =>
  encodeHeaders([
    [`:${kind}-type`, type.slice(0, longestName)],
    [':content-type', 'application/json'],
    [':message-type', kind],
  ])

/** An event of a type that no client knows, which AWS's SDKs skip. Keeps a stream alive whose format has no event for that. */
const keepAlive = encodeFrame(headersOf('event', 'ping'), encoder.encode('{}'))

/** Reads a frame as an event. The name of an exception ends with that word. Undefined for a frame that is neither. */
function readFrame(
  { headers, payload }: EventFrame,
  read: (type: string, payload: string) => SseEvent | undefined,
): SseEvent | undefined {
  const text = decoder.decode(payload)
  switch (headers[':message-type'] ?? 'event') {
    case 'event':
      return read(headers[':event-type'] ?? '', text)
    case 'exception':
      return { event: exceptionName(headers[':exception-type'] ?? ''), data: objectOf(text) }
    case 'error':
      return {
        event: exceptionName(headers[':error-code'] ?? ''),
        data: JSON.stringify({ message: headers[':error-message'] ?? '' }),
      }
    default:
      return undefined
  }
}

const exceptionName = (name: string): string => (isException(name) ? name : `${name}Exception`)

/** Returns the payload of an exception as JSON. Some proxies send a plain text. */
const objectOf = (text: string): string => (parseObject(text) === undefined ? JSON.stringify({ message: text }) : text)

function unwrap(type: string, payload: string): SseEvent | undefined {
  if (type !== 'chunk') return undefined
  const { bytes } = parseObject(payload) ?? {}
  const inner = typeof bytes === 'string' ? fromBase64(bytes) : undefined
  const data = inner === undefined ? undefined : decoder.decode(inner)
  const event = data === undefined ? undefined : parseObject(data)?.type
  if (data === undefined || typeof event !== 'string')
    throw new GatewayError('upstream_bad_response', 'The upstream sent an event without content from the model.')
  return { event, data }
}
