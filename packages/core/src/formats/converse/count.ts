import { fromBase64 } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { CountCodec } from '../codec.ts'
import { pick, tokensIn } from '../shared/json-fields.ts'
import { validateRequest } from './validate.ts'

/** Fields that Bedrock counts. It rejects any other. */
const countedFields = ['messages', 'system', 'toolConfig', 'additionalModelRequestFields']

/** `POST /model/{id}/count-tokens` with the fields of a Converse request in `input.converse`. */
export const count: CountCodec = {
  pathEnding: '/{id}/count-tokens',
  checkRequest: inputOf,
  validateRequest(body) {
    const checked = inputOf(body)
    try {
      validateRequest(generationOf(checked))
    } catch (error) {
      throw error instanceof GatewayError ? errorWithin(error) : error
    }
    return checked
  },
  vendorRequest({ input }) {
    const { invokeModel } = isObject(input) ? input : {}
    if (!isObject(invokeModel)) return undefined
    const bytes = typeof invokeModel.body === 'string' ? fromBase64(invokeModel.body) : undefined
    if (bytes === undefined)
      throw invalid('input.invokeModel.body', 'input.invokeModel.body: expected a body in base64.')
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      throw invalid('input.invokeModel.body', 'input.invokeModel.body: the body is not valid UTF-8.')
    }
  },
  toGeneration: (body) => ({ body: generationOf(body), at: '/input/converse' }),
  fromGeneration: (body) => ({ input: { converse: pick(body, countedFields) } }),
  decode: ({ inputTokens }) => {
    const tokens = tokensIn(inputTokens)
    return tokens === undefined ? undefined : { tokens }
  },
  encode: ({ tokens }) => ({ inputTokens: tokens }),
  storedFields: [],
}

/** Returns the body if it holds a Converse request to be counted. */
function inputOf(body: Json): JsonObject {
  if (!isObject(body)) throw new GatewayError('invalid_request', 'The request body is not a JSON object.')
  const { input } = body
  if (!isObject(input) || isObject(input.converse) === isObject(input.invokeModel))
    throw invalid('input', 'input: send the request to be counted in one of input.converse and input.invokeModel.')
  return body
}

/** Returns the counted request as the decoder of generations reads it. */
function generationOf({ input, model }: JsonObject): JsonObject {
  const { converse } = isObject(input) ? input : {}
  return { ...(isObject(converse) ? converse : {}), model: model ?? null, stream: false }
}

const invalid = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

/** Returns the error with `param` relative to the body. */
function errorWithin({ info: { param, message } }: GatewayError): GatewayError {
  const within = param === undefined ? 'input.converse' : `input.converse.${param}`
  return invalid(
    within,
    message.replace(`at '${param}'`, () => `at '${within}'`),
  )
}
