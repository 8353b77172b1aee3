import type { ClientCodec } from '../codec.ts'
import { capabilities } from './capabilities.ts'
import { defaults, efforts, fieldPointers, generatePointers } from './fields.ts'
import { decodeGenerate, decodeRequest } from './request-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { chatShape, generateShape } from './shapes.ts'
import { encodeStream } from './stream-encode.ts'
import { checkRequest, validateGenerate, validateRequest } from './validate.ts'
import { ollamaGenerateWire, ollamaWire } from './wire.ts'

/** The codec of Ollama's `/api/chat`. Only clients speak it: upstreams of Ollama have chat completions, too. */
export const ollamaCodec: ClientCodec = {
  ...ollamaWire,
  checkRequest,
  validateRequest,
  decodeRequest,
  encodeResponse: (response, context) => encodeResponse(response, context, chatShape),
  encodeStream: (context) => encodeStream(context, chatShape),
  fieldPointers,
  sealsInCallIds: true,
  efforts,
  capabilities,
  defaults,
}

/** The same for `/api/generate`. */
export const ollamaGenerateCodec: ClientCodec = {
  ...ollamaCodec,
  ...ollamaGenerateWire,
  validateRequest: validateGenerate,
  decodeRequest: decodeGenerate,
  encodeResponse: (response, context) => encodeResponse(response, context, generateShape),
  encodeStream: (context) => encodeStream(context, generateShape),
  fieldPointers: generatePointers,
}
