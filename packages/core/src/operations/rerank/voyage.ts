import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { Dialect } from '../operation.ts'
import { decodeResults, namesOf, type RerankAnswer, tokenUsage } from './answer.ts'
import { reportSettings, textsOf } from './body.ts'
import type { RerankRequest } from './request.ts'

/** Voyage AI's: `top_k` for `top_n`, and results in `data`. */
export const voyage: Dialect<RerankRequest, RerankAnswer> = {
  name: 'voyage',
  errors: 'chat',

  encodeRequest(request, context) {
    const { query, topN, truncate } = request
    reportSettings(request, ['maxChunks', 'maxTokens'], context)
    const out: JsonObject = { model: context.target.model, query, documents: textsOf(request, context) }
    put(out, 'top_k', topN)
    put(out, 'truncation', truncate)
    return out
  },

  decodeResponse(body, context) {
    const answer = isObject(body) ? body : {}
    const usage = tokenUsage(answer.usage)
    return {
      ...namesOf(answer),
      results: decodeResults(answer.data, context),
      ...(usage === undefined ? {} : { usage }),
    }
  },

  isAnswer: ({ data }) => Array.isArray(data),
  tapResponse({ usage: counted }) {
    const usage = tokenUsage(counted)
    return usage === undefined ? {} : { usage }
  },
}
