import { toBase64 } from '../base/base64.ts'
import { asNumber, type JsonObject } from '../base/json.ts'
import { demoDimensions, demoEmbedding } from '../demo/embedding.ts'
import { chat } from '../formats/chat/dialect.ts'
import { checkShape, fieldError, missingField, type RequestShape } from '../formats/openai/check-fields.ts'
import type { WireError } from '../wire/errors.ts'
import { noEvents } from '../wire/piece.ts'
import { inputTexts, isValidInput } from './input-texts.ts'
import { readJson, type Service, type ServiceRequest } from './service.ts'

const shape: RequestShape = {
  numbers: { dimensions: { kind: 'integer', min: 1 } },
  words: { encoding_format: ['float', 'base64'] },
  strings: ['user'],
  others: ['input'],
}
const mostInputs = 2048
/** Dimensions of known models; the demo's own makes vectors up to the largest of theirs. */
const dimensionsOf: Readonly<Record<string, number>> = {
  'text-embedding-ada-002': 1536,
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
}
const mostDimensions = 3072

function check({ body, model }: ServiceRequest): WireError | undefined {
  const error = checkShape(body, shape)
  if (error) return error
  const { input, dimensions } = body
  if (input === undefined || input === null) return missingField('input')
  if (!isValidInput(input)) {
    const words =
      "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
    return fieldError(words, undefined)
  }
  if (Array.isArray(input) && typeof input[0] !== 'number' && input.length > mostInputs) {
    return fieldError(
      `Invalid 'input': array too long. Expected an array with maximum length ${mostInputs}, but got an array with length ${input.length} instead.`,
      'input',
      'array_above_max_length',
    )
  }
  if (typeof dimensions !== 'number') return undefined
  if (model === 'text-embedding-ada-002')
    return fieldError('This model does not support specifying dimensions.', undefined)
  const most = dimensionsOf[model] ?? mostDimensions
  if (dimensions <= most) return undefined
  return fieldError(`Invalid value for 'dimensions' = ${dimensions}. Must be less than or equal to ${most}.`, undefined)
}

/** OpenAI's Embeddings: texts that share words are near each other. */
export const embeddings: Service = {
  operation: 'embeddings',
  conventions: chat,
  contentTypes: ['application/json'],
  read: readJson,
  wantsStream: () => false,
  check,
  directiveText: ({ body }) => inputTexts(body.input)[0]?.text ?? '',
  render: ({ body, model, script }) => ({
    body() {
      const inputs = inputTexts(body.input)
      const dimensions = asNumber(body.dimensions) ?? dimensionsOf[model] ?? demoDimensions
      const tokens = script.usage?.input ?? inputs.reduce((sum, input) => sum + input.tokens, 0)
      return {
        object: 'list',
        data: inputs.map(({ text }, index): JsonObject => {
          const vector = demoEmbedding(text, dimensions)
          return {
            object: 'embedding',
            index,
            embedding: body.encoding_format === 'base64' ? toBase64Floats(vector) : vector,
          }
        }),
        model: script.model ?? model,
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }
    },
    events: noEvents,
  }),
}

/** Returns a vector as base64 of little-endian 32-bit floats. */
function toBase64Floats(vector: readonly number[]): string {
  const view = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [index, value] of vector.entries()) view.setFloat32(index * 4, value, true)
  return toBase64(new Uint8Array(view.buffer))
}
