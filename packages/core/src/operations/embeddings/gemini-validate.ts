import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { copyInCamelCase, spellingOf } from '../../formats/gemini/spelling.ts'

/** Position of a request: for messages in Google's notation, for `param` with dots. */
interface Place {
  readonly message: string
  readonly proto: string
  readonly param: string
}

/** Checks `:embedContent` in either spelling. Throws errors in Google's wording. */
export function validateOne(body: Json): JsonObject {
  const request = rootOf(body)
  checkRequest(request, { message: 'EmbedContentRequest', proto: '', param: '' }, request.model)
  return request
}

/** Checks `:batchEmbedContents`. */
export function validateBatch(body: Json): JsonObject {
  const root = rootOf(body)
  const { requests } = root
  if (requests === undefined || requests === null || (Array.isArray(requests) && requests.length === 0))
    throw refused('* BatchEmbedContentsRequest.requests: requests is not specified\n', 'requests')
  if (!Array.isArray(requests)) throw invalid('requests', 'a list', requests, 'requests')
  for (const [index, request] of requests.entries()) {
    const proto = `requests[${index}]`
    if (!isObject(request)) throw invalid(proto, 'an object', request, `requests.${index}`)
    const place = { message: 'BatchEmbedContentsRequest', proto: `${proto}.`, param: `requests.${index}.` }
    checkRequest(request, place, root.model)
  }
  return root
}

/** Checks `:predict` of Vertex AI, whose instances hold a text, or an image or video for multimodal models. */
export function validateInstances(body: Json): JsonObject {
  const root = rootOf(body)
  const { instances, parameters } = root
  if (!Array.isArray(instances) || instances.length === 0)
    throw invalid('instances', 'a list of at least one object', instances ?? null, 'instances')
  for (const [index, instance] of instances.entries()) {
    const at = `instances.${index}`
    if (!isObject(instance)) throw invalid(`instances[${index}]`, 'an object', instance, at)
    const { content, prompt } = instance
    // Image generation has the same path. An instance with a prompt must not be counted as text and answered with an image.
    if (prompt !== undefined)
      throw refused(`Invalid value at 'instances[${index}]': unknown name "prompt".`, `${at}.prompt`)
    if (content !== undefined && typeof content !== 'string')
      throw invalid(`instances[${index}].content`, 'TYPE_STRING', content, `${at}.content`)
  }
  if (parameters !== undefined && parameters !== null && !isObject(parameters))
    throw invalid('parameters', 'an object', parameters, 'parameters')
  return root
}

function rootOf(body: Json): JsonObject {
  if (isObject(body)) return body
  throw refused('Invalid JSON payload received. The root of the request is not an object.')
}

function checkRequest(request: JsonObject, { message, proto, param }: Place, pathModel: Json | undefined): void {
  const { content, embedContentConfig: config, model, ...settings } = copyInCamelCase(request)
  const name = (key: string): string => `${param}${spellingOf(request, key)}`
  if (content === undefined || content === null)
    throw refused(`* ${message}.${proto}content: contents is not specified\n`, name('content'))
  checkContent(content, `${proto}content`, name('content'))
  checkSettings(settings, proto, name)
  if (config !== undefined && config !== null) {
    const at = name('embedContentConfig')
    if (!isObject(config)) throw invalid(`${proto}embed_content_config`, 'an object', config, at)
    checkSettings(copyInCamelCase(config), `${proto}embed_content_config.`, (key) => `${at}.${spellingOf(config, key)}`)
  }
  if (typeof model === 'string' && model !== pathModel && !model.endsWith(`/${String(pathModel)}`))
    throw refused(
      `* ${message}.${proto}model: the request and the path name different models ('${String(pathModel)}').\n`,
      name('model'),
    )
}

function checkContent(content: Json, proto: string, param: string): void {
  if (!isObject(content)) throw invalid(proto, 'an object', content, param)
  const { parts } = content
  if (!Array.isArray(parts) || parts.length === 0)
    throw refused(`* EmbedContentRequest.${proto}.parts: contents.parts must not be empty.\n`, `${param}.parts`)
  for (const [index, part] of parts.entries()) {
    if (!isObject(part)) throw invalid(`${proto}.parts[${index}]`, 'an object', part, `${param}.parts.${index}`)
    const { text } = part
    if (text !== undefined && text !== null && typeof text !== 'string')
      throw invalid(`${proto}.parts[${index}].text`, 'TYPE_STRING', text, `${param}.parts.${index}.text`)
  }
}

const types = {
  taskType: ['task_type', 'TYPE_ENUM', (value: Json): boolean => typeof value === 'string'],
  title: ['title', 'TYPE_STRING', (value: Json): boolean => typeof value === 'string'],
  autoTruncate: ['auto_truncate', 'TYPE_BOOL', (value: Json): boolean => typeof value === 'boolean'],
  outputDimensionality: [
    'output_dimensionality',
    'TYPE_INT32',
    (value: Json): boolean => typeof value === 'number' && Number.isInteger(value) && value > 0,
  ],
} as const

function checkSettings(fields: JsonObject, proto: string, name: (key: string) => string): void {
  for (const [key, [field, type, isValid]] of Object.entries(types)) {
    const value = fields[key]
    if (value !== undefined && value !== null && !isValid(value))
      throw invalid(`${proto}${field}`, type, value, name(key))
  }
}

function invalid(field: string, type: string, value: Json, param: string): GatewayError {
  const logMessage = `Invalid value at '${field}' (${type})`
  return new GatewayError('invalid_request', `${logMessage}, ${JSON.stringify(value).slice(0, 100)}`, {
    param,
    logMessage,
  })
}

const refused = (message: string, param?: string): GatewayError =>
  new GatewayError('invalid_request', message, param === undefined ? {} : { param })
