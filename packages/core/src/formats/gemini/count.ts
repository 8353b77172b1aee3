import { GatewayError } from '../../base/errors.ts'
import { spliceJson } from '../../base/json/edit.ts'
import { isObject, type Json, type JsonObject, scanJson } from '../../base/json/json.ts'
import type { CountCodec, TokenCount } from '../codec.ts'
import { setOwn, tokensIn } from '../shared/json-fields.ts'
import { copyInCamelCase, modelPrefix, spellingOf } from './spelling.ts'
import { checkRequest, validateRequest } from './validate.ts'

/** The field with a whole generation request, for counts of more than its contents. */
const nestedRequest = 'generateContentRequest'

/** Fields that are not input of the model. */
const uncountedFields: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'safetySettings',
  'serviceTier',
  'store',
  'labels',
])

/** Settings of the response that the model sees, so that they count. */
const countedSettings = ['responseMimeType', 'responseSchema', 'responseJsonSchema', 'mediaResolution']

/** Token counts: `:countTokens` with contents alone, or with a whole `generateContentRequest`. Vertex AI's form, a request at the top level, is accepted too. */
export const count: CountCodec = {
  pathEnding: '/{model}:countTokens',

  checkRequest: (body) => checkCount(body, checkRequest),
  validateRequest: (body) => checkCount(body, validateRequest),

  toGeneration(body) {
    const key = spellingOf(body, nestedRequest)
    const inner = body[key]
    if (!isObject(inner)) return { body, at: '' }
    return { body: { ...inner, model: body.model ?? null, stream: false }, at: `/${key}` }
  },

  fromGeneration(body, model) {
    const request: JsonObject = {}
    for (const key of Object.keys(body)) if (!uncountedFields.has(key)) setOwn(request, key, body[key] ?? null)
    delete request.generationConfig
    const settings = isObject(body.generationConfig) ? body.generationConfig : {}
    const shown = Object.entries(settings).filter(([key]) => countedSettings.includes(key))
    if (shown.length > 0) request.generationConfig = Object.fromEntries(shown)
    const { contents, ...rest } = request
    return Object.keys(rest).length === 0
      ? { contents: contents ?? [] }
      : { [nestedRequest]: { model: `${modelPrefix}${model}`, ...request } }
  },

  decode(answer) {
    const fields = copyInCamelCase(answer)
    const tokens = tokensIn(fields.totalTokens)
    if (tokens === undefined) return undefined
    const cached = tokensIn(fields.cachedContentTokenCount)
    return cached === undefined ? { tokens } : { tokens, cached }
  },

  // Without a breakdown by modality, which only the provider knows.
  encode: ({ tokens, cached }: TokenCount): JsonObject => ({
    totalTokens: tokens,
    ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
  }),

  storedFields: ['cachedContent', 'cached_content'],

  rename(text, members, requested, model) {
    const pieces: string[] = []
    let from = 0
    for (const { key, start, end } of members) {
      if (spellingOf({ [key]: true }, nestedRequest) !== key) continue
      pieces.push(text.slice(from, start), renameIn(text.slice(start, end), requested, model))
      from = end
    }
    return pieces.join('') + text.slice(from)
  },
}

function checkCount(body: Json, check: (body: Json) => JsonObject): JsonObject {
  if (!isObject(body)) return check(body)
  const key = spellingOf(body, nestedRequest)
  const inner = body[key]
  if (inner === undefined || inner === null) return check(body)
  if (!isObject(inner)) throw invalidRequest(key, `Invalid value at '${key}', an object is expected`)
  if (copyInCamelCase(body).contents != null)
    throw invalidRequest(key, `* CountTokensRequest: contents and ${key} are mutually exclusive: send one of them.\n`)
  checkNestedModel(inner.model, body.model, `${key}.model`)
  try {
    check(inner)
  } catch (error) {
    throw error instanceof GatewayError ? errorWithin(key, error) : error
  }
  return body
}

/** Renames the model in the nested request, which names it with its collection as prefix. */
function renameIn(text: string, requested: string, model: string): string {
  const { members } = scanJson(text, Number.POSITIVE_INFINITY)
  const named = members.filter(({ key }) => key.toLowerCase() === 'model')
  // Duplicate members are rewritten even if the name stays: the upstream might read the one that was not checked.
  if (named.length === 0 || (requested === model && named.length === 1)) return text
  const own: unknown = (JSON.parse(text) as JsonObject).model
  const name =
    typeof own === 'string' && own.endsWith(`/${requested}`) ? own.slice(0, -requested.length) + model : model
  return spliceJson(text, members, Object.fromEntries(named.map(({ key }) => [key, name])))
}

/** Rejects a nested request for another model than the path's, as Google does. */
function checkNestedModel(own: Json | undefined, requested: Json | undefined, param: string): void {
  if (own === undefined || own === null || own === requested) return
  if (typeof own === 'string' && typeof requested === 'string' && own.endsWith(`/${requested}`)) return
  throw invalidRequest(param, `${param}: the request and the path name different models ('${String(requested)}').`)
}

const invalidRequest = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

/** Returns the error with `param` relative to the body. */
function errorWithin(key: string, { info }: GatewayError): GatewayError {
  const { param, message } = info
  return invalidRequest(param === undefined ? key : `${key}.${param}`, message)
}
