import type { CountCodec } from '../codec.ts'
import { pick, tokensIn } from '../shared/json-fields.ts'
import { validateBody } from '../shared/validate.ts'
import { complain, countPassThroughSchema, countSchema, validateAs } from './validate.ts'

/** What the endpoint takes, with its betas; anything else is refused there as an extra input. */
const counted = [
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
  checkRequest: (body) => validateBody(countPassThroughSchema, body, complain),
  validateRequest: (body) => validateAs(countSchema, body),
  toGeneration: (body) => ({ body, at: '' }),
  fromGeneration: (body) => pick(body, counted),
  read: ({ input_tokens }) => {
    const tokens = tokensIn(input_tokens)
    return tokens === undefined ? undefined : { tokens }
  },
  write: ({ tokens }) => ({ input_tokens: tokens }),
  stored: [],
}
