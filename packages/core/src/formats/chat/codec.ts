import type { Codec } from '../codec.ts'
import { carries } from './carries.ts'
import { answerPointers, defaults, efforts, fieldPointers } from './fields.ts'
import { encodeModel, encodeModelList } from './model-list.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { usageBeside } from './usage.ts'
import { checkRequest, validateRequest } from './validate.ts'
import { chatWire } from './wire.ts'

/** OpenAI's chat completions, as OpenAI and a dozen compatible vendors speak them. */
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
  encodeModelList,
  encodeModel,
  fieldPointers,
  sealsInCallIds: true,
  responsePointers: answerPointers,
  unshownUsage: usageBeside,
  efforts,
  carries,
  defaults,
}
