import type { Operation } from '../operation.ts'
import { type EmbeddingsAnswer, usageOf } from './answer.ts'
import { cohere } from './cohere.ts'
import { gemini, geminiBatch } from './gemini.ts'
import { jina } from './jina.ts'
import { openai } from './openai.ts'
import type { EmbeddingsRequest } from './request.ts'
import { vertex, vertexContent } from './vertex.ts'
import { voyage } from './voyage.ts'

/** Texts to vectors. */
export const embeddings: Operation<EmbeddingsRequest, EmbeddingsAnswer> = {
  name: 'embeddings',
  dialects: [openai, geminiBatch, cohere, voyage, jina, gemini, vertex, vertexContent],
  counted: {},
  usageOf,
}
