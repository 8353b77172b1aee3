import type { Json } from '../base/json.ts'
import { asList, asNumber } from '../base/json.ts'
import { badType, fieldError } from '../formats/openai/check-fields.ts'
import { checkShape, type RequestShape } from '../formats/openai/check-shape.ts'
import type { WireError } from '../wire/errors.ts'
import { isValidInput } from './input-texts.ts'
import type { ServiceRequest } from './service.ts'

const shape: RequestShape = {
  numbers: {
    temperature: { kind: 'decimal', min: 0, max: 2 },
    top_p: { kind: 'decimal', min: 0, max: 1 },
    presence_penalty: { kind: 'decimal', min: -2, max: 2 },
    frequency_penalty: { kind: 'decimal', min: -2, max: 2 },
    max_tokens: { kind: 'integer', min: 0 },
    n: { kind: 'integer', min: 1, max: 128 },
    best_of: { kind: 'integer', min: 1, max: 20 },
    logprobs: { kind: 'integer', min: 0, max: 5 },
    seed: { kind: 'integer' },
  },
  booleans: ['stream', 'echo'],
  strings: ['suffix', 'user'],
  others: ['prompt', 'stop', 'logit_bias', 'stream_options'],
}
const mostToken = 100_257

/** Returns OpenAI's error for an invalid completion request, or undefined. */
export function checkCompletion({ body }: ServiceRequest): WireError | undefined {
  const error = checkShape(body, shape)
  if (error) return error
  const { prompt } = body
  if (prompt !== undefined && prompt !== null) {
    if (!isValidInput(prompt, true)) return badType('prompt', 'string or array', prompt)
    const strange = tokensOf(prompt).find((token) => token > mostToken)
    if (strange !== undefined) {
      const words = `Invalid token in prompt: ${strange}. Minimum value is 0, maximum value is ${mostToken} (inclusive).`
      return fieldError(words, undefined)
    }
  }
  if (body.stream_options && body.stream !== true) {
    return fieldError("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options')
  }
  const best = asNumber(body.best_of)
  if (best === undefined) return undefined
  if (best < (asNumber(body.n) ?? 1)) {
    return fieldError(
      `You requested that the server return more choices than it will generate (HINT: reduce 'n' or raise 'best_of').`,
      'best_of',
    )
  }
  return best > 1 && body.stream === true
    ? fieldError('Only one completion may be streamed with best_of. (HINT: set best_of to 1)', 'best_of')
    : undefined
}

const tokensOf = (prompt: Json): number[] =>
  asList(prompt)
    .flatMap((item) => (Array.isArray(item) ? item : [item]))
    .filter((item) => typeof item === 'number')
