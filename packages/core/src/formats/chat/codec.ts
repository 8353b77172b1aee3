import type { Codec } from '../codec.ts'
import { rateLimitHeaders } from '../shared/allowance.ts'
import { validateBody } from '../shared/validate.ts'
import { carries } from './carries.ts'
import { complain } from './complaint.ts'
import { decodeError, encodeError } from './error.ts'
import { answerPointers, efforts, fieldPointers } from './fields.ts'
import { encodeModel, encodeModelList } from './model-list.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { requestSchema } from './schema.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { tapResponse, tapStream, wireEdit } from './tap.ts'
import { usageBeside } from './usage.ts'

/** OpenAI's chat completions, as OpenAI and a dozen compatible vendors speak them. */
export const chatCodec: Codec = {
  format: 'chat',
  validateRequest: (body) => validateBody(requestSchema, body, complain),
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  decodeError,
  encodeError,
  wireEdit,
  tapResponse,
  tapStream,
  encodeModelList,
  encodeModel,
  fieldPointers,
  answerPointers,
  usageBeside,
  efforts,
  affinity: { keys: ['prompt_cache_key'], prefix: ['tools'], turns: 'messages' },
  says: {
    answer: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
    event: ['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'],
  },
  unitsIn: ({ num_search_queries: searches }) => (typeof searches === 'number' ? { searches } : undefined),
  otherModels: ['models'],
  outputBound: { fields: ['max_completion_tokens', 'max_tokens'], times: ['n'] },
  encodeAllowance: rateLimitHeaders,
  carries,
}
