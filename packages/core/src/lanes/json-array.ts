import { concatBytes } from '../base/bytes.ts'
import { createSseDecoder } from '../http/sse/sse.ts'
import type { ResponseStream } from './lane.ts'

const encoder = new TextEncoder()
const between = ',\r\n'

/**
 * Reframes a stream as one JSON array with an element for each event's data. White space between the elements keeps it alive; an error is
 * its last element.
 */
export function asJsonArray(stream: ResponseStream): ResponseStream {
  const decoder = createSseDecoder(Number.POSITIVE_INFINITY)
  let opened = false
  let closed = false

  const elements = (bytes: Uint8Array): string => {
    let out = ''
    for (const { data } of decoder.push(bytes)) {
      // Some servers end with a marker that is not JSON.
      if (data === '' || data.trim() === '[DONE]') continue
      out += (opened ? between : '[') + data
      opened = true
    }
    return out
  }
  const close = (): string => {
    if (closed) return ''
    closed = true
    return opened ? '\n]' : '[]'
  }

  return {
    state: stream.state,
    push: (chunk) => stream.push(chunk),
    end: (complete) => stream.end(complete),
    take() {
      const bytes = stream.take()
      let out = bytes === undefined ? '' : elements(bytes)
      if (stream.state.ended || stream.state.error !== undefined) out += close()
      return out === '' ? undefined : encoder.encode(out)
    },
    ...(stream.estimatedTokens === undefined ? {} : { estimatedTokens: stream.estimatedTokens }),
    heartbeat: () => encoder.encode(opened ? '\n' : ' '),
    fail: (error) => concatBytes([encoder.encode(elements(stream.fail(error))), encoder.encode(close())]),
  }
}
