import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { unread } from '../../formats/shared/reader.ts'
import { expectedRerank, searchesOf } from '../expected-use.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import { decodeResults, encodeMeta, namesOf, type RerankAnswer, readMeta, tapRerank } from './answer.ts'
import { decodeBody, reportSettings, textsOf, validateV2 } from './body.ts'
import type { RerankRequest } from './request.ts'

/** Cohere's v2: documents are strings, and answers name them by number only. */
export const cohere: Dialect<RerankRequest, RerankAnswer> = {
  name: 'cohere',
  errors: 'chat',
  validate: validateV2,
  unitsOf: searchesOf,
  expects: expectedRerank,

  decodeRequest(body, context) {
    const { stream: _, ...fields } = unread(body)
    const request = decodeBody(fields, context)
    reportUnread(fields, context.report)
    return request
  },

  encodeRequest(request, context) {
    const { query, topN, maxTokens } = request
    reportSettings(request, ['maxChunks', 'truncate'], context)
    const out: JsonObject = { model: context.target.model, query, documents: textsOf(request, context) }
    put(out, 'top_n', topN)
    put(out, 'max_tokens_per_doc', maxTokens)
    return out
  },

  decodeResponse(body, context) {
    const answer = isObject(body) ? body : {}
    return { ...namesOf(answer), results: decodeResults(answer.results, context), ...readMeta(answer.meta) }
  },

  encodeResponse: (answer, { newId }) => ({
    id: answer.id ?? newId('rerank-'),
    results: answer.results.map(({ index, score }) => ({ index, relevance_score: score })),
    meta: encodeMeta(answer, '2'),
  }),

  isAnswer: ({ results }) => Array.isArray(results),
  tapResponse({ meta }) {
    const { usage, searchUnits } = readMeta(meta)
    return tapRerank(usage, searchUnits)
  },
}
