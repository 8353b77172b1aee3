import { GatewayError } from '../../base/errors.ts'
import { spliceJson } from '../../base/json/edit.ts'
import { isObject } from '../../base/json/object.ts'
import { scanJson } from '../../base/json/scan.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CountCodec, TokenCount } from '../codec.ts'
import { setOwn, tokensIn } from '../shared/json-fields.ts'
import { modelPrefix, respell, spelt } from './spelling.ts'
import { checkRequest, validateRequest } from './validate.ts'

/** The whole request of a generation, where not its contents alone are to be counted. */
const nested = 'generateContentRequest'

/** What is no input of the model, or decides only how it answers. */
const uncounted: ReadonlySet<string> = new Set(['model', 'stream', 'safetySettings', 'serviceTier', 'store', 'labels'])

/** Settings of the answer that the model is shown. */
const shownSettings = ['responseMimeType', 'responseSchema', 'responseJsonSchema', 'mediaResolution']

/** `:countTokens`: contents alone, or a whole `generateContentRequest`. The cloud platform's form, a request at the top, is taken too. */
export const count: CountCodec = {
  pathEnding: '/{model}:countTokens',

  checkRequest: (body) => checkCount(body, checkRequest),
  validateRequest: (body) => checkCount(body, validateRequest),

  toGeneration(body) {
    const key = spelt(body, nested)
    const inner = body[key]
    if (!isObject(inner)) return { body, at: '' }
    return { body: { ...inner, model: body.model ?? null, stream: false }, at: `/${key}` }
  },

  fromGeneration(body, model) {
    const request: JsonObject = {}
    for (const key of Object.keys(body)) if (!uncounted.has(key)) setOwn(request, key, body[key] ?? null)
    delete request.generationConfig
    const settings = isObject(body.generationConfig) ? body.generationConfig : {}
    const shown = Object.entries(settings).filter(([key]) => shownSettings.includes(key))
    if (shown.length > 0) request.generationConfig = Object.fromEntries(shown)
    const { contents, ...rest } = request
    return Object.keys(rest).length === 0
      ? { contents: contents ?? [] }
      : { [nested]: { model: `${modelPrefix}${model}`, ...request } }
  },

  read(answer) {
    const fields = respell(answer)
    const tokens = tokensIn(fields.totalTokens)
    if (tokens === undefined) return undefined
    const cached = tokensIn(fields.cachedContentTokenCount)
    return cached === undefined ? { tokens } : { tokens, cached }
  },

  // No breakdown by modality: nobody but the provider knows it.
  write: ({ tokens, cached }: TokenCount): JsonObject => ({
    totalTokens: tokens,
    ...(cached === undefined ? {} : { cachedContentTokenCount: cached }),
  }),

  stored: ['cachedContent', 'cached_content'],

  rename(text, members, asked, model) {
    const pieces: string[] = []
    let from = 0
    for (const { key, start, end } of members) {
      if (spelt({ [key]: true }, nested) !== key) continue
      pieces.push(text.slice(from, start), renameIn(text.slice(start, end), asked, model))
      from = end
    }
    return pieces.join('') + text.slice(from)
  },
}

function checkCount(body: Json, check: (body: Json) => JsonObject): JsonObject {
  if (!isObject(body)) return check(body)
  const key = spelt(body, nested)
  const inner = body[key]
  if (inner === undefined || inner === null) return check(body)
  if (!isObject(inner)) throw refused(key, `Invalid value at '${key}', an object is expected`)
  if (respell(body).contents != null)
    throw refused(key, `* CountTokensRequest: contents and ${key} are mutually exclusive: send one of them.\n`)
  checkName(inner.model, body.model, `${key}.model`)
  try {
    check(inner)
  } catch (error) {
    throw error instanceof GatewayError ? within(key, error) : error
  }
  return body
}

/** The request within names the model too, with its collection in front. */
function renameIn(text: string, asked: string, model: string): string {
  const { members } = scanJson(text, Number.POSITIVE_INFINITY)
  const named = members.filter(({ key }) => key.toLowerCase() === 'model')
  // Also where the name stays: of a name given twice, the upstream might read the one that nobody checked.
  if (named.length === 0 || (asked === model && named.length === 1)) return text
  const own: unknown = (JSON.parse(text) as JsonObject).model
  const name = typeof own === 'string' && own.endsWith(`/${asked}`) ? own.slice(0, -asked.length) + model : model
  return spliceJson(text, members, Object.fromEntries(named.map(({ key }) => [key, name])))
}

/** The path decides which model counts: a request that names another one is refused, as it would be upstream. */
function checkName(own: Json | undefined, asked: Json | undefined, param: string): void {
  if (own === undefined || own === null || own === asked) return
  if (typeof own === 'string' && typeof asked === 'string' && own.endsWith(`/${asked}`)) return
  throw refused(param, `${param}: the request names another model than the path ('${String(asked)}').`)
}

const refused = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

/** The same complaint, its field named from the top of the body. */
function within(key: string, { info }: GatewayError): GatewayError {
  const { param, message } = info
  return refused(param === undefined ? key : `${key}.${param}`, message)
}
