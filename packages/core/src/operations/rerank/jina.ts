import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import { unread } from '../../formats/shared/json-fields.ts'
import { expectedRerank, searchesOf } from '../expected-use.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import {
  decodeBody,
  type RerankDocument,
  type RerankRequest,
  reportUnsupportedSettings,
  validateV1,
} from './request.ts'
import {
  decodeIds,
  decodeMeta,
  decodeResults,
  encodeMeta,
  type RerankResponse,
  type RerankResult,
  tapRerank,
  tokenUsage,
} from './response.ts'

/** Documents are sent unchanged: servers of this dialect accept texts and objects, images included. */
const encodeDocument = ({ text, source }: RerankDocument): Json => {
  if (text === undefined) return source ?? ''
  return source === undefined || source.text !== text ? text : { text }
}

const encodeResult = ({ index, score }: RerankResult, { documents, returnDocuments }: RerankRequest): JsonObject => {
  const { source, text = '' } = documents[index] ?? {}
  return { index, relevance_score: score, ...(returnDocuments ? { document: source ?? { text } } : {}) }
}

/**
 * `/v1/rerank` in Jina's dialect, which Together, OpenRouter and vLLM share. Cohere's v1 is nearly the same, and responses to clients
 * satisfy both.
 */
export const jina: Dialect<RerankRequest, RerankResponse> = {
  name: 'jina',
  errors: 'chat',
  validate: validateV1,
  unitsOf: searchesOf,
  expectedUse: expectedRerank,

  decodeRequest(body, context) {
    const { stream: _, ...fields } = unread(body)
    const request = decodeBody(fields, context)
    reportUnread(fields, context.report)
    return request
  },

  encodeRequest(request, context) {
    const { query, documents, topN, truncate } = request
    reportUnsupportedSettings(request, ['maxChunks', 'maxTokens'], context)
    const out: JsonObject = { model: context.target.model, query, documents: documents.map(encodeDocument) }
    put(out, 'top_n', topN)
    put(out, 'truncation', truncate)
    // The gateway adds the client's documents to the response itself, so they need not travel back.
    out.return_documents = false
    return out
  },

  decodeResponse(body, context) {
    const answer = isObject(body) ? body : {}
    const { usage: counted, ...meta } = decodeMeta(answer.meta)
    const usage = tokenUsage(answer.usage) ?? counted
    return {
      ...decodeIds(answer),
      ...meta,
      results: decodeResults(answer.results, context),
      ...(usage === undefined ? {} : { usage }),
    }
  },

  encodeResponse(answer, { request, newId }) {
    const { id, model, results, usage } = answer
    return {
      id: id ?? newId('rerank-'),
      model: model ?? request.model,
      object: 'list',
      results: results.map((result) => encodeResult(result, request)),
      meta: encodeMeta(answer, '1'),
      ...(usage === undefined ? {} : { usage: { total_tokens: usage.input.total } }),
    }
  },

  isResponse: ({ results }) => Array.isArray(results),
  tapResponse({ usage: counted, meta }) {
    const { usage, searchUnits } = decodeMeta(meta)
    return tapRerank(tokenUsage(counted) ?? usage, searchUnits)
  },
}
