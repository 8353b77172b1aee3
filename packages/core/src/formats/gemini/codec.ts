import type { Codec } from '../codec.ts'
import { capabilities } from './capabilities.ts'
import { count } from './count.ts'
import { defaults, efforts, fieldPointers, responsePointers } from './fields.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { unshownUsage, usageFields } from './usage.ts'
import { checkRequest, validateRequest } from './validate.ts'
import { geminiWire } from './wire.ts'

/** Google's generateContent, as the Gemini API and Vertex AI implement it. */
export const geminiCodec: Codec = {
  ...geminiWire,
  checkRequest,
  validateRequest,
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  count,
  fieldPointers,
  responsePointers,
  unshownUsage,
  usageFields,
  efforts,
  capabilities,
  defaults,
}
