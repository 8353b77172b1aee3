import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { ResponseTap, UpstreamWireCodec } from '../codec.ts'
import { decodeError, nonEmptyText } from './error.ts'
import { decodeFinish } from './finish.ts'
import { usageOf } from './usage-decode.ts'

/** The part of Converse that every call needs. */
export const converseWire: UpstreamWireCodec = {
  format: 'converse',
  decodeError,
  isResponse: ({ output }) => isObject(output),
  tapResponse,
  modelInPath: { whole: '/{id}/converse', stream: '/{id}/converse-stream' },
  textFields: { response: ['text', 'input'], event: ['text', 'input'] },
}

/** Reads error, usage and finish reason from a whole response. */
export function tapResponse(body: JsonObject): ResponseTap {
  const tap: ResponseTap = {}
  if (body.output === undefined && (body.message !== undefined || body.__type !== undefined))
    tap.error = decodeError(200, body)
  put(tap, 'usage', usageOf(body))
  put(
    tap,
    'finish',
    nonEmptyText(body.stopReason) === undefined ? undefined : decodeFinish(body.stopReason, undefined).reason,
  )
  return tap
}
