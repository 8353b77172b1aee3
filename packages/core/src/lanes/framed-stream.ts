import type { ErrorInfo } from '../base/errors.ts'
import type { Framing } from '../http/framing/framing.ts'
import { createSseDecoder } from '../http/sse/sse.ts'
import type { ResponseStream } from './lane.ts'

const nothing = new Uint8Array(0)

/** Writes a stream of server-sent events in another framing. Translations need no such wrapper: they write events in the framing at once. */
export function framedStream(stream: ResponseStream, framing: Framing): ResponseStream {
  const { state } = stream
  const decoder = createSseDecoder(Number.POSITIVE_INFINITY)
  const writer = framing.open()
  const add = (bytes: Uint8Array | undefined): void => {
    if (bytes !== undefined) writer.write(decoder.push(bytes))
  }

  return {
    state,
    push: (chunk) => stream.push(chunk),
    end: (complete) => stream.end(complete),
    take() {
      add(stream.take())
      if (state.ended || state.error !== undefined) writer.end()
      return writer.take()
    },
    ...(stream.estimatedTokens === undefined ? {} : { estimatedTokens: stream.estimatedTokens }),
    heartbeat: () => writer.heartbeat(() => createSseDecoder(Number.POSITIVE_INFINITY).push(stream.heartbeat())),
    fail(error: ErrorInfo) {
      add(stream.fail(error))
      writer.end()
      return writer.take() ?? nothing
    },
  }
}
