import type { JsonObject } from '../base/json.ts'
import { asList, asNumber, asObject, asString } from '../base/json.ts'
import { countTokens } from '../base/tokens.ts'
import { demoDimensions, demoEmbedding } from '../demo/embedding.ts'
import { gemini } from '../formats/gemini/dialect.ts'
import { invalidArgument } from '../formats/gemini/errors.ts'
import { readGeminiJson } from '../formats/gemini/read-json.ts'
import type { WireError } from '../wire/errors.ts'
import { noEvents } from '../wire/piece.ts'
import { readJson, type Service, type ServiceRequest } from './service.ts'

/** Tokens counted for an image or audio, as recorded. */
const mediaTokens = 258
const mostRequests = 100
const mostDimensions = 3072

/** Returns the requests in one spelling, for either of the two methods. */
const requestsOf = ({ body, route }: Pick<ServiceRequest, 'body' | 'route'>): JsonObject[] =>
  route.action === 'batchEmbedContents'
    ? asList(readGeminiJson(body, 'BatchEmbedContentsRequest').value.requests).map(asObject)
    : [readGeminiJson(body, 'EmbedContentRequest').value]

const partsOf = (request: JsonObject): JsonObject[] => asList(asObject(request.content).parts).map(asObject)

const textOf = (request: JsonObject): string =>
  partsOf(request)
    .map((part) => asString(part.text) || JSON.stringify(part))
    .join('\n')

const settingsOf = (request: JsonObject): JsonObject => ({ ...request, ...asObject(request.embedContentConfig) })

const bare = (model: string): string => model.replace(/^.*models\//, '')

function check(serviceRequest: ServiceRequest): WireError | undefined {
  const batch = serviceRequest.route.action === 'batchEmbedContents'
  const message = batch ? 'BatchEmbedContentsRequest' : 'EmbedContentRequest'
  const { error } = readGeminiJson(serviceRequest.body, message)
  if (error) return error
  const requests = requestsOf(serviceRequest)
  if (requests.length === 0) return invalidArgument(`* ${message}.requests: requests is not specified\n`)
  if (requests.length > mostRequests)
    return invalidArgument(`* ${message}.requests: at most ${mostRequests} requests can be in one batch\n`)
  for (const [index, request] of requests.entries()) {
    const at = `${message}.${batch ? `requests[${index}].` : ''}`
    const model = bare(asString(request.model))
    if (batch && model === '') return invalidArgument(`* ${at}model: model is not specified\n`)
    if (model !== '' && model !== bare(serviceRequest.model))
      return invalidArgument(`* ${at}model: the model in the request must be that of the path.\n`)
    if (request.content === undefined) return invalidArgument(`* ${at}content: contents is not specified\n`)
    if (partsOf(request).length === 0)
      return invalidArgument(`* ${at}content.parts: contents.parts must not be empty.\n`)
    const wide = asNumber(settingsOf(request).outputDimensionality)
    if (wide !== undefined && (wide < 1 || wide > mostDimensions))
      return invalidArgument(`* ${at}output_dimensionality: must be in the range [1, ${mostDimensions}].\n`)
  }
  return undefined
}

function valuesOf(request: JsonObject, model: string): JsonObject {
  const own = /^gemini-embedding/.test(bare(model)) ? mostDimensions : demoDimensions
  return { values: demoEmbedding(textOf(request), asNumber(settingsOf(request).outputDimensionality) ?? own) }
}

/** Returns the usage; only models since the second generation report it. */
function usageOf(requests: readonly JsonObject[], model: string): JsonObject {
  if (bare(model) === 'gemini-embedding-001') return {}
  const parts = requests.flatMap(partsOf)
  const text = parts.reduce((sum, part) => sum + countTokens(asString(part.text)), 0)
  const media = parts.filter((part) => part.text === undefined).length * mediaTokens
  const details = [
    ...(media > 0 ? [{ modality: 'IMAGE', tokenCount: media }] : []),
    ...(text > 0 ? [{ modality: 'TEXT', tokenCount: text }] : []),
  ]
  return { usageMetadata: { promptTokenCount: text + media, promptTokenDetails: details } }
}

/** Google's embedContent and batchEmbedContents. */
export const geminiEmbeddings: Service = {
  operation: 'embeddings',
  conventions: gemini,
  contentTypes: ['application/json'],
  read: readJson,
  wantsStream: () => false,
  check,
  directiveText: (request) => textOf(requestsOf(request)[0] ?? {}),
  render: (serving) => ({
    body() {
      const { model, route } = serving
      const requests = requestsOf(serving)
      const embeddings = requests.map((request) => valuesOf(request, model))
      const usage = usageOf(requests, model)
      return route.action === 'batchEmbedContents'
        ? { embeddings, ...usage }
        : { embedding: embeddings[0] ?? {}, ...usage }
    },
    events: noEvents,
  }),
}
