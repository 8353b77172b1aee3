import { fromBase64 } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { streamException } from '../../formats/converse/error.ts'
import { parseObject } from '../../formats/shared/json-text.ts'
import { encodeSse, type SseEvent } from '../../http/sse/event.ts'
import { createFrameDecoder, type EventFrame } from './event-stream.ts'

/** AWS sends no frame of more than 16 MiB of payload. */
const longestFrame = 24 * 1024 * 1024

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** What a frame is as a server-sent event; undefined for one that is none. */
export type ReadFrame = (type: string, payload: string) => SseEvent | undefined

/**
 * A stream in AWS's framing as server-sent events. An exception in it becomes the error that it is, behind the events before
 * it; a stream that breaks off within a frame is truncated.
 */
export function framesToEvents(bytes: AsyncIterable<Uint8Array>, read: ReadFrame): AsyncIterable<Uint8Array> {
  const frames = createFrameDecoder(longestFrame)
  const source = bytes[Symbol.asyncIterator]()
  let failure: { readonly error: unknown } | undefined

  const eventsOf = (chunk: Uint8Array): string => {
    let out = ''
    try {
      frames.push(chunk)
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        const event = eventOf(frame, read)
        if (event !== undefined) out += encodeSse(event)
      }
    } catch (error) {
      failure = { error }
    }
    return out
  }

  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    while (failure === undefined) {
      const item = await source.next()
      if (item.done === true) {
        if (frames.held === 0) return { done: true, value: undefined }
        throw new GatewayError('upstream_truncated', 'The upstream broke off in the middle of an event.')
      }
      const out = eventsOf(item.value)
      // What came before a failure in the same chunk is the client's.
      if (out !== '') return { done: false, value: encoder.encode(out) }
    }
    await source.return?.()
    throw failure.error
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      // By hand: a generator would wait for the next chunk before it lets go of the connection.
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

function eventOf({ headers, payload }: EventFrame, read: ReadFrame): SseEvent | undefined {
  const text = decoder.decode(payload)
  const kind = headers[':message-type'] ?? 'event'
  if (kind === 'exception') throw streamException(headers[':exception-type'] ?? '', messageIn(text))
  if (kind === 'error') throw streamException(headers[':error-code'] ?? '', headers[':error-message'] ?? '')
  return kind === 'event' ? read(headers[':event-type'] ?? '', text) : undefined
}

function messageIn(payload: string): string {
  try {
    const body: unknown = JSON.parse(payload)
    if (typeof body !== 'object' || body === null) return ''
    // An exception of the model keeps the model's own words apart.
    for (const key of ['message', 'Message', 'originalMessage'] as const)
      if (key in body && typeof body[key as keyof typeof body] === 'string') return body[key as keyof typeof body]
    return ''
  } catch {
    return payload
  }
}

/** InvokeModel wraps each of the model's own events: `{bytes: base64}`. */
const unwrap: ReadFrame = (type, payload) => {
  if (type !== 'chunk') return undefined
  const { bytes } = parseObject(payload) ?? {}
  const inner = typeof bytes === 'string' ? fromBase64(bytes) : undefined
  const data = inner === undefined ? undefined : decoder.decode(inner)
  const event = data === undefined ? undefined : parseObject(data)?.type
  if (data === undefined || typeof event !== 'string')
    throw new GatewayError('upstream_bad_response', 'The upstream sent an event that holds nothing of the model.')
  return { event, data }
}

type Bytes = AsyncIterable<Uint8Array>

/** InvokeModel's frames as the model's own events. */
export const invokeModelEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, unwrap)

/** Converse frames its events, and names them as they are. */
export const converseEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, (event, data) => ({ event, data }))
