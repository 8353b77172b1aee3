import { encodeModel, encodeModelList } from '../chat/model-list.ts'
import type { Codec } from '../codec.ts'
import { carries } from './carries.ts'
import { count } from './count.ts'
import { answerPointers, defaults, efforts, fieldPointers } from './fields.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { acceptedChanges } from './settings-changes.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { usageBeside } from './usage.ts'
import { checkRequest, validateRequest } from './validate.ts'
import { responsesWire } from './wire.ts'

/** OpenAI's Responses, as OpenAI, xAI and the Open Responses servers speak them; without state of its own. */
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
