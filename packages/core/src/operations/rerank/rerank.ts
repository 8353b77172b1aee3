import type { Operation } from '../operation.ts'
import { cohere } from './cohere.ts'
import { jina } from './jina.ts'
import type { RerankRequest } from './request.ts'
import type { RerankResponse } from './response.ts'
import { voyage } from './voyage.ts'

/** Ranks documents by their relevance to a query. */
export const rerank: Operation<RerankRequest, RerankResponse> = {
  name: 'rerank',
  dialects: [cohere, jina, voyage],
  usageOf: ({ usage }) => usage,
  unitsOf: ({ searchUnits }) => (searchUnits === undefined ? undefined : { searches: searchUnits }),
}
