import type { Codec } from '../codec.ts'
import { capabilities } from './capabilities.ts'
import { count } from './count.ts'
import { defaults, efforts, fieldPointers, responsePointers, usageFields } from './fields.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { checkRequest, validateRequest } from './validate.ts'
import { converseWire } from './wire.ts'

/** The codec of Amazon Bedrock's Converse, one format for the models of every vendor there. */
export const converseCodec: Codec = {
  ...converseWire,
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
  sealsInCallIds: true,
  responsePointers,
  usageFields,
  efforts,
  capabilities,
  defaults,
}
