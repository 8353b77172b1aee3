import type { Operation } from '../operation.ts'
import type { RerankAnswer } from './answer.ts'
import { cohere } from './cohere.ts'
import { jina } from './jina.ts'
import type { RerankRequest } from './request.ts'
import { voyage } from './voyage.ts'

/** Documents by how well they answer a query. */
export const rerank: Operation<RerankRequest, RerankAnswer> = {
  name: 'rerank',
  dialects: [cohere, jina, voyage],
  usageOf: ({ usage }) => usage,
}
