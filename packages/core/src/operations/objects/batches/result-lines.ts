import { isObject, type Json, type JsonObject } from '../../../base/json/json.ts'
import type { RoutedCall } from '../../route.ts'
import { type ObjectRequest, type ObjectUpstream, openContent } from '../send.ts'

const lineFeed = 10

/**
 * Yields the JSON objects of a content with one object on each line. A line may have `limits.answerBytes`; empty lines are skipped.
 *
 * @throws GatewayError for a line that is too long, and for an upstream that fails; SyntaxError for a line that is not an object
 */
export async function* linesOf(
  call: RoutedCall,
  target: ObjectUpstream,
  request: ObjectRequest,
): AsyncGenerator<JsonObject> {
  const { answerBytes, totalMs } = call.shared.limits
  const { stream, close } = await openContent(call, target, request, totalMs)
  const decoder = new TextDecoder()
  let pieces: Uint8Array[] = []
  let length = 0
  const take = (): JsonObject | undefined => {
    const text = pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode()
    pieces = []
    length = 0
    if (text.trim() === '') return undefined
    const value = JSON.parse(text) as Json
    if (!isObject(value)) throw new SyntaxError('A line is not a JSON object.')
    return value
  }
  try {
    for await (const chunk of stream) {
      let from = 0
      for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
        pieces.push(chunk.subarray(from, end))
        from = end + 1
        const value = take()
        if (value !== undefined) yield value
      }
      if (from === chunk.length) continue
      pieces.push(chunk.subarray(from))
      length += chunk.length - from
      if (length > answerBytes) throw new RangeError(`A line has more than ${answerBytes} bytes.`)
    }
    const value = take()
    if (value !== undefined) yield value
  } finally {
    close()
  }
}
