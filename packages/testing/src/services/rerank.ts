import type { Json, JsonObject } from '../base/json.ts'
import { asList, asString, isObject } from '../base/json.ts'
import { countTokens } from '../base/tokens.ts'
import { type DemoRank, demoRerank } from '../demo/embedding.ts'
import type { WireError } from '../wire/errors.ts'
import { noEvents } from '../wire/piece.ts'
import { cohereConventions, cohereError, uuid } from './cohere-conventions.ts'
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
  check: (asked) => check(asked, false),
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
  check: (asked) => check(asked, true),
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
