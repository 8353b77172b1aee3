import type { Codec } from '../codec.ts'
import { capabilities } from './capabilities.ts'
import { count } from './count.ts'
import { defaults, efforts, fieldPointers, instructionsPointer, responsePointers } from './fields.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { acceptedChanges } from './settings-changes.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { usageFields } from './usage.ts'
import { checkRequest, validateRequest } from './validate.ts'
import { responsesWire } from './wire.ts'

/** OpenAI's Responses, as OpenAI, xAI and Open Responses servers implement it. The codec keeps no state. */
export const responsesCodec: Codec = {
  ...responsesWire,
  checkRequest,
  validateRequest,
  decodeRequest,
  encodeRequest,
  acceptedChanges,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  count,
  fieldPointers,
  repeatedTurn: instructionsPointer,
  sealsInCallIds: true,
  responsePointers,
  usageFields,
  efforts,
  capabilities,
  defaults,
}
