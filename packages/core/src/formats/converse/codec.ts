import type { UpstreamCodec } from '../codec.ts'
import { fieldPointers, responsePointers, usageFields } from './fields.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { decodeStream } from './stream-decode.ts'
import { converseWire } from './wire.ts'

/** The codec of Amazon Bedrock's Converse, one format for the models of every vendor there. No client speaks it. */
export const converseCodec: UpstreamCodec = {
  ...converseWire,
  encodeRequest,
  decodeResponse,
  decodeStream,
  fieldPointers,
  responsePointers,
  usageFields,
}
