import type { CountCodec } from '../codec.ts'
import { pick, tokensIn } from '../shared/json-fields.ts'
import { bodyCheck } from '../shared/validate.ts'
import { countPassThroughSchema, countSchema, describeIssue, validateAs } from './validate.ts'

/** Fields that the endpoint accepts, its betas included. It rejects any other field as an extra input. */
const countedFields = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'cache_control',
  'context_management',
  'mcp_servers',
  'speed',
]

/** `POST /v1/messages/count_tokens`. */
export const count: CountCodec = {
  checkRequest: bodyCheck(countPassThroughSchema, describeIssue),
  validateRequest: (body) => validateAs(countSchema, body),
  toGeneration: (body) => ({ body, at: '' }),
  fromGeneration: (body) => pick(body, countedFields),
  decode: ({ input_tokens }) => {
    const tokens = tokensIn(input_tokens)
    return tokens === undefined ? undefined : { tokens }
  },
  encode: ({ tokens }) => ({ input_tokens: tokens }),
  storedFields: [],
}
