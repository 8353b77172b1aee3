import { GatewayError } from '../../base/errors.ts'
import { parseObject } from '../../base/json/parse.ts'
import { isException, streamException } from '../../formats/converse/error.ts'
import { createFrameDecoder, type EventFrame, maxFrameBytes } from '../../http/frames/frame-decoder.ts'
import { chunkFrames, namedFrames } from '../../http/framing/event-frames.ts'
import type { FrameFraming } from '../../http/framing/framing.ts'
import { encodeSse } from '../../http/sse/encode.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

const encoder = new TextEncoder()

/**
 * Converts a stream in AWS's encoding to server-sent events. An exception frame throws its error after the events before it. A stream that
 * ends within a frame is truncated.
 */
export function framesToEvents(bytes: AsyncIterable<Uint8Array>, framing: FrameFraming): AsyncIterable<Uint8Array> {
  const frames = createFrameDecoder(maxFrameBytes)
  const source = bytes[Symbol.asyncIterator]()
  let failure: { readonly error: unknown } | undefined

  const eventsOf = (chunk: Uint8Array): string => {
    let out = ''
    try {
      frames.push(chunk)
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        const event = eventOf(frame, framing)
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
        if (frames.heldBytes() === 0) return { done: true, value: undefined }
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

function eventOf(frame: EventFrame, { read }: FrameFraming): SseEvent | undefined {
  const event = read(frame)
  if (!isException(event?.event)) return event
  const { message, Message, originalMessage } = parseObject(event?.data ?? '') ?? {}
  // An exception of the model has the model's message in a field of its own.
  const text = [message, Message, originalMessage].find((value) => typeof value === 'string')
  throw streamException(event?.event ?? '', String(text ?? ''))
}

type Bytes = AsyncIterable<Uint8Array>

/** Converts the frames of InvokeModel to the model's own events. */
export const invokeModelEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, chunkFrames)

/** Converts the frames of Converse to events with the same names and data. */
export const converseEvents = (bytes: Bytes): Bytes => framesToEvents(bytes, namedFrames)
