import type { JsonObject } from '../../base/json/types.ts'
import { chatCodec } from '../../formats/chat/index.ts'
import type { Codec } from '../../formats/codec.ts'
import { decodeRequest, echoOf, fieldPointers } from './request.ts'
import { encodeResponse } from './response.ts'
import { validateRequest } from './schema.ts'
import { encodeStream } from './stream.ts'

/**
 * Completions as a chat format's clients would write them: the client's half of a codec. No upstream is ever spoken to with
 * it, and the other half is chat's.
 */
export function completionsCodec(body: JsonObject): Codec {
  const echo = echoOf(body)
  return {
    ...chatCodec,
    validateRequest,
    decodeRequest,
    encodeResponse: (response, context) => encodeResponse(response, context, echo),
    encodeStream: (context) => encodeStream(context, echo),
    fieldPointers,
  }
}
