import { encodeModel, encodeModelList } from '../chat/model-list.ts'
import type { Codec } from '../codec.ts'
import { rateLimitHeaders } from '../shared/allowance.ts'
import { validateBody } from '../shared/validate.ts'
import { carries } from './carries.ts'
import { complain } from './complaint.ts'
import { count } from './count.ts'
import { decodeError, encodeError } from './error.ts'
import { answerPointers, efforts, fieldPointers } from './fields.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { inputSchema, requestSchema } from './schema.ts'
import { decodeStream } from './stream-decode.ts'
import { encodeStream } from './stream-encode.ts'
import { tapResponse, tapStream } from './tap.ts'
import { usageBeside } from './usage.ts'

/** OpenAI's Responses, as OpenAI, xAI and the Open Responses servers speak them; without state of its own. */
export const responsesCodec: Codec = {
  format: 'responses',
  validateRequest: (body) => validateBody(inputSchema, validateBody(requestSchema, body, complain), complain),
  decodeRequest,
  encodeRequest,
  decodeResponse,
  encodeResponse,
  decodeStream,
  encodeStream,
  decodeError,
  encodeError,
  // Usage comes with every terminal event: nothing has to be asked for.
  wireEdit: () => undefined,
  tapResponse,
  tapStream,
  count,
  encodeModelList,
  encodeModel,
  fieldPointers,
  answerPointers,
  usageBeside,
  efforts,
  affinity: {
    keys: ['prompt_cache_key', 'conversation', 'conversation.id'],
    prefix: ['tools', 'instructions'],
    turns: 'input',
  },
  says: { answer: ['text', 'arguments', 'refusal', 'input'], event: ['delta'], mark: '.delta"' },
  pending: ['queued', 'in_progress'],
  outputBound: { fields: ['max_output_tokens'] },
  encodeAllowance: rateLimitHeaders,
  carries,
}
