import { GatewayError } from '../../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../../base/json/json.ts'
import type { RoutedCall } from '../../route.ts'
import { type ObjectRequest, type ObjectUpstream, openContent } from '../send.ts'

const lineFeed = 10

/** Returns the JSON object in a line. Throws GatewayError `invalid_request` for anything else. */
export function parseLine(text: string): JsonObject {
  let value: Json | undefined
  try {
    value = JSON.parse(text) as Json
  } catch {
    // The same as for a value that is no object.
  }
  if (isObject(value)) return value
  throw new GatewayError('invalid_request', 'expected a JSON object.')
}

/**
 * Yields the lines of a content. A line may have `limits.answerBytes`; empty lines are skipped.
 *
 * @throws GatewayError for an upstream that fails; RangeError for a line that is too long
 */
export async function* linesOf(
  call: RoutedCall,
  target: ObjectUpstream,
  request: ObjectRequest,
): AsyncGenerator<string> {
  const { answerBytes, totalMs } = call.shared.limits
  const { stream, close } = await openContent(call, target, request, totalMs)
  const decoder = new TextDecoder()
  let pieces: Uint8Array[] = []
  let length = 0
  const take = (): string => {
    const text = pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode()
    pieces = []
    length = 0
    return text.trim()
  }
  try {
    for await (const chunk of stream) {
      let from = 0
      for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
        pieces.push(chunk.subarray(from, end))
        from = end + 1
        const text = take()
        if (text !== '') yield text
      }
      if (from === chunk.length) continue
      pieces.push(chunk.subarray(from))
      length += chunk.length - from
      if (length > answerBytes) throw new RangeError(`A line has more than ${answerBytes} bytes.`)
    }
    const text = take()
    if (text !== '') yield text
  } finally {
    close()
  }
}
