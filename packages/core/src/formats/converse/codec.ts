import type { UpstreamCodec } from '../codec.ts'
import { decodeError, tapResponse } from './error.ts'
import { answerPointers, fieldPointers } from './fields.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { decodeStream } from './stream-decode.ts'
import { usageBeside } from './usage.ts'

/** Amazon Bedrock's Converse: one format for the models of every vendor there. No client speaks it. */
export const converseCodec: UpstreamCodec = {
  format: 'converse',
  encodeRequest,
  decodeResponse,
  decodeStream,
  decodeError,
  tapResponse,
  modelInPath: { whole: '/{id}/converse', stream: '/{id}/converse-stream' },
  fieldPointers,
  answerPointers,
  usageBeside,
  says: { answer: ['text', 'input'], event: ['text', 'input'] },
}
