import type { CountCodec } from '../codec.ts'
import { pick, tokensIn } from '../shared/json-fields.ts'
import { bodyCheck } from '../shared/validate.ts'
import { checkRequest, complain, requestSchema } from './validate.ts'

/** The fields that the endpoint accepts. */
const acceptedFields = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'truncation',
  'personality',
  'previous_response_id',
  'conversation',
]

/** Token counts: `POST /v1/responses/input_tokens`. Only the model is required, since it selects the upstream. */
export const count: CountCodec = {
  checkRequest,
  validateRequest: bodyCheck(requestSchema, complain),
  toGeneration: (body) => ({ body, at: '' }),
  fromGeneration: (body) => pick(body, acceptedFields),
  decode: ({ input_tokens }) => {
    const tokens = tokensIn(input_tokens)
    return tokens === undefined ? undefined : { tokens }
  },
  encode: ({ tokens }) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  // Empty: the decoder reports references to stored state as fatal.
  storedFields: [],
}
