import { fromBase64 } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { parseObject } from '../../base/json/parse.ts'
import { streamException } from '../../formats/converse/error.ts'
import { encodeSse, type SseEvent } from '../../http/sse/sse.ts'
import { createFrameDecoder, type EventFrame } from './event-stream.ts'

/** AWS sends at most 16 MiB of payload in a frame. */
const maxFrameBytes = 24 * 1024 * 1024

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** Converts a frame to a server-sent event, or returns undefined for a frame that is none. */
export type FrameConverter = (type: string, payload: string) => SseEvent | undefined

/**
 * Converts a stream in AWS's encoding to server-sent events. An exception frame throws its error after the events before it. A stream that
 * ends within a frame is truncated.
 */
export function framesToEvents(bytes: AsyncIterable<Uint8Array>, convert: FrameConverter): AsyncIterable<Uint8Array> {
  const frames = createFrameDecoder(maxFrameBytes)
  const source = bytes[Symbol.asyncIterator]()
  let failure: { readonly error: unknown } | undefined

  const eventsOf = (chunk: Uint8Array): string => {
    let out = ''
    try {
      frames.push(chunk)
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        const event = eventOf(frame, convert)
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
        throw new GatewayError('upstream_truncated', 'The response of the upstream ended in the middle of an event.')
      }
      const out = eventsOf(item.value)
      // Events before a failure in the same chunk still reach the client.
      if (out !== '') return { done: false, value: encoder.encode(out) }
    }
    await source.return?.()
    throw failure.error
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      // Not a generator: that would wait for the next chunk before it releases the connection.
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

function eventOf({ headers, payload }: EventFrame, convert: FrameConverter): SseEvent | undefined {
  const text = decoder.decode(payload)
  const kind = headers[':message-type'] ?? 'event'
  if (kind === 'exception') throw streamException(headers[':exception-type'] ?? '', messageIn(text))
  if (kind === 'error') throw streamException(headers[':error-code'] ?? '', headers[':error-message'] ?? '')
  return kind === 'event' ? convert(headers[':event-type'] ?? '', text) : undefined
}

function messageIn(payload: string): string {
  try {
    const body: unknown = JSON.parse(payload)
    if (typeof body !== 'object' || body === null) return ''
    // An exception of the model has the model's message in a field of its own.
    for (const key of ['message', 'Message', 'originalMessage'] as const)
      if (key in body && typeof body[key as keyof typeof body] === 'string') return body[key as keyof typeof body]
    return ''
  } catch {
    return payload
  }
}

/** InvokeModel wraps each event of the model as `{bytes: base64}`. */
const unwrap: FrameConverter = (type, payload) => {
  if (type !== 'chunk') return undefined
  const { bytes } = parseObject(payload) ?? {}
  const inner = typeof bytes === 'string' ? fromBase64(bytes) : undefined
  const data = inner === undefined ? undefined : decoder.decode(inner)
  const event = data === undefined ? undefined : parseObject(data)?.type
  if (data === undefined || typeof event !== 'string')
    throw new GatewayError('upstream_bad_response', 'The upstream sent an event without content from the model.')
  return { event, data }
}

type Bytes = AsyncIterable<Uint8Array>

/** Converts the frames of InvokeModel to the model's own events. */
export const invokeModelEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, unwrap)

/** Converts the frames of Converse to events with the same names and data. */
export const converseEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, (event, data) => ({ event, data }))
