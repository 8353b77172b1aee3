import type { CountCodec } from '../codec.ts'
import { pick, tokensIn } from '../shared/json-fields.ts'
import { validateBody } from '../shared/validate.ts'
import { checkRequest, complain, requestSchema } from './validate.ts'

/** What the endpoint takes. */
const counted = [
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

/** `POST /v1/responses/input_tokens`. Only the model must be named: it decides where the request goes. */
export const count: CountCodec = {
  checkRequest,
  validateRequest: (body) => validateBody(requestSchema, body, complain),
  toGeneration: (body) => ({ body, at: '' }),
  fromGeneration: (body) => pick(body, counted),
  read: ({ input_tokens }) => {
    const tokens = tokensIn(input_tokens)
    return tokens === undefined ? undefined : { tokens }
  },
  write: ({ tokens }) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  // The decoder itself reports as fatal what another server has stored.
  stored: [],
}
