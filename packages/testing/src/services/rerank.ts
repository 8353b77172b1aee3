import { asList, asString, isObject, type Json, type JsonObject } from '../base/json.ts'
import { countTokens } from '../base/tokens.ts'
import { type DemoRank, demoRerank } from '../demo/embedding.ts'
import { checkOpenaiKey } from '../formats/credentials.ts'
import type { ProviderConventions } from '../formats/dialect.ts'
import type { ErrorTable, WireError } from '../wire/errors.ts'
import { dataPiece, noEvents } from '../wire/piece.ts'
import { readJson, type Service, type ServiceRequest } from './service.ts'

/** Documents per billed search unit. */
const documentsPerSearchUnit = 100

const textOf = (document: Json): string =>
  isObject(document) ? asString(document.text, JSON.stringify(document)) : asString(document)

function check({ body }: ServiceRequest, documentsMayBeObjects: boolean): WireError | undefined {
  const { model, query, documents, top_n: topN } = body
  if (typeof model !== 'string' || model === '') return cohereError('invalid request: model must be specified.')
  if (query === undefined || query === null) return cohereError('invalid request: query must be specified.')
  if (typeof query !== 'string')
    return cohereError('invalid type: parameter query is of the wrong type, expected string.')
  if (query === '') return cohereError('invalid request: query must not be an empty string.')
  if (!Array.isArray(documents) || documents.length === 0)
    return cohereError('invalid request: list of documents must not be empty')
  const wrong = documents.findIndex((item) => typeof item !== 'string' && !(documentsMayBeObjects && isObject(item)))
  if (wrong >= 0)
    return cohereError(`invalid type: parameter documents[${wrong}] is of the wrong type, expected string.`, 422)
  if (topN !== undefined && topN !== null && !(typeof topN === 'number' && Number.isInteger(topN) && topN >= 1))
    return cohereError('invalid request: top_n must be an integer of at least 1.')
  return undefined
}

function ranked(body: JsonObject): DemoRank[] {
  const ranks = demoRerank(asString(body.query), asList(body.documents).map(textOf))
  return typeof body.top_n === 'number' ? ranks.slice(0, body.top_n) : ranks
}

const metaOf = (body: JsonObject, version: string): JsonObject => ({
  api_version: { version },
  billed_units: { search_units: Math.max(1, Math.ceil(asList(body.documents).length / documentsPerSearchUnit)) },
})

const errorText = (message: string): { type: string; code: null; message: string } => ({
  type: '',
  code: null,
  message,
})

const cohereErrorTable: ErrorTable = {
  400: errorText('invalid request'),
  401: errorText('invalid api token'),
  404: errorText('not found'),
  422: errorText('unprocessable entity'),
  429: errorText(
    'Please wait and try again later. You are past the per minute request limit, please wait and try again later.',
  ),
  498: errorText('blocked input or output'),
  500: errorText('internal server error, this has been reported to our developers.'),
  503: errorText('the service is currently unavailable, please try again later'),
}

const errorBody = ({ message }: WireError, requestId: string): JsonObject => ({ id: requestId, message })

const cohereError = (message: string, status = 400): WireError => ({ status, message })

/** Cohere's conventions: an error has a message only. */
const cohereConventions: ProviderConventions = {
  errorTable: cohereErrorTable,
  defaultStreamErrorType: '',
  indent: undefined,
  jsonType: 'application/json',
  streamType: 'text/event-stream',
  notJsonError: cohereError('invalid json syntax: invalid character in the request body'),
  createResponseHead(ids) {
    const requestId = uuid(ids.item('').slice(1))
    return { requestId, headers: { 'x-debug-trace-id': requestId.replaceAll('-', '') } }
  },
  unknownPathError: () => cohereError('not found', 404),
  wrongMethodError: () => cohereError('method not allowed', 405),
  authenticate(head, apiKey) {
    const refusal = checkOpenaiKey(head, apiKey)
    if (!refusal) return undefined
    return cohereError(head.headers.authorization === undefined ? 'no api key supplied' : 'invalid api token', 401)
  },
  unknownModelError: (model) =>
    cohereError(`model '${model}' not found, make sure the correct model ID was used and that you have access.`, 404),
  errorBody,
  failurePiece: (error, requestId) => dataPiece(errorBody(error, requestId)),
  errorHeaders: () => ({}),
}

/** Formats at least 32 hex digits as a UUID. */
const uuid = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`

const common = {
  operation: 'rerank',
  conventions: cohereConventions,
  contentTypes: ['application/json'],
  read: readJson,
  wantsStream: () => false,
  directiveText: ({ body }: ServiceRequest) => asString(body.query),
} as const

/** Cohere's v2: documents that share words with the query come first. */
export const cohereRerank: Service = {
  ...common,
  check: (request) => check(request, false),
  render: ({ body, ids }) => ({
    body: () => ({
      id: uuid(ids.item('').slice(1)),
      results: ranked(body).map(({ index, score }) => ({ index, relevance_score: score })),
      meta: metaOf(body, '2'),
    }),
    events: noEvents,
  }),
}

/** `/v1/rerank` of Jina and Cohere's v1: documents may be objects, and are returned with `return_documents`. */
export const rerank: Service = {
  ...common,
  check: (request) => check(request, true),
  render: ({ body, model, script, ids }) => ({
    body() {
      const documents = asList(body.documents)
      const texts = [asString(body.query), ...documents.map(textOf)]
      const total = script.usage?.input ?? texts.reduce((sum, text) => sum + countTokens(text), 0)
      return {
        id: uuid(ids.item('').slice(1)),
        model: script.model ?? model,
        object: 'list',
        results: ranked(body).map(({ index, score }) => {
          const document = documents[index] ?? ''
          const back = isObject(document) ? document : { text: document }
          return { index, relevance_score: score, ...(body.return_documents === true ? { document: back } : {}) }
        }),
        usage: { total_tokens: total },
        meta: metaOf(body, '1'),
      }
    },
    events: noEvents,
  }),
}
