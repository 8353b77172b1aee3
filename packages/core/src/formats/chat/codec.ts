import type { Codec } from '../codec.ts'
import { capabilities } from './capabilities.ts'
import { defaults, efforts, fieldPointers, responsePointers } from './fields.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { usageFields } from './usage.ts'
import { checkRequest, validateRequest } from './validate.ts'
import { chatWire } from './wire.ts'

/** The codec of OpenAI's chat completions, for OpenAI and compatible providers. */
export const chatCodec: Codec = {
  ...chatWire,
  checkRequest,
  validateRequest,
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  fieldPointers,
  sealsInCallIds: true,
  responsePointers,
  usageFields,
  efforts,
  capabilities,
  defaults,
}
