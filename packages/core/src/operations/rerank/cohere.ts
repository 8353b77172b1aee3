import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import { unread } from '../../formats/shared/json-fields.ts'
import { expectedRerank, searchesOf } from '../expected-use.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import { decodeBody, documentsAsTexts, type RerankRequest, reportUnsupportedSettings, validateV2 } from './request.ts'
import { decodeIds, decodeMeta, decodeResults, encodeMeta, type RerankResponse, tapRerank } from './response.ts'

/** Cohere's v2 rerank: documents are strings, and responses refer to them by index only. */
export const cohere: Dialect<RerankRequest, RerankResponse> = {
  name: 'cohere',
  errors: 'chat',
  validate: validateV2,
  unitsOf: searchesOf,
  expectedUse: expectedRerank,

  decodeRequest(body, context) {
    const { stream: _, ...fields } = unread(body)
    const request = decodeBody(fields, context)
    reportUnread(fields, context.report)
    return request
  },

  encodeRequest(request, context) {
    const { query, topN, maxTokens } = request
    reportUnsupportedSettings(request, ['maxChunks', 'truncate'], context)
    const out: JsonObject = { model: context.target.model, query, documents: documentsAsTexts(request, context) }
    put(out, 'top_n', topN)
    put(out, 'max_tokens_per_doc', maxTokens)
    return out
  },

  decodeResponse(body, context) {
    const answer = isObject(body) ? body : {}
    return { ...decodeIds(answer), results: decodeResults(answer.results, context), ...decodeMeta(answer.meta) }
  },

  encodeResponse: (answer, { newId }) => ({
    id: answer.id ?? newId('rerank-'),
    results: answer.results.map(({ index, score }) => ({ index, relevance_score: score })),
    meta: encodeMeta(answer, '2'),
  }),

  isResponse: ({ results }) => Array.isArray(results),
  tapResponse({ meta }) {
    const { usage, searchUnits } = decodeMeta(meta)
    return tapRerank(usage, searchUnits)
  },
}
