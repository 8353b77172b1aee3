import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { Dialect } from '../operation.ts'
import { documentsAsTexts, type RerankRequest, reportUnsupportedSettings } from './request.ts'
import { decodeIds, decodeResults, type RerankResponse, tokenUsage } from './response.ts'

/** Voyage AI's rerank: `top_k` instead of `top_n`, and results in `data`. */
export const voyage: Dialect<RerankRequest, RerankResponse> = {
  name: 'voyage',
  errors: 'chat',

  encodeRequest(request, context) {
    const { query, topN, truncate } = request
    reportUnsupportedSettings(request, ['maxChunks', 'maxTokens'], context)
    const out: JsonObject = { model: context.target.model, query, documents: documentsAsTexts(request, context) }
    put(out, 'top_k', topN)
    put(out, 'truncation', truncate)
    return out
  },

  decodeResponse(body, context) {
    const answer = isObject(body) ? body : {}
    const usage = tokenUsage(answer.usage)
    return {
      ...decodeIds(answer),
      results: decodeResults(answer.data, context),
      ...(usage === undefined ? {} : { usage }),
    }
  },

  isResponse: ({ data }) => Array.isArray(data),
  tapResponse({ usage: counted }) {
    const usage = tokenUsage(counted)
    return usage === undefined ? {} : { usage }
  },
}
