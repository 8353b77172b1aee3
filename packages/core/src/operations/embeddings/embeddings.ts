import type { Operation } from '../operation.ts'
import { cohere } from './cohere.ts'
import { cohereInvoke } from './cohere-invoke.ts'
import { gemini, geminiBatch } from './gemini.ts'
import { jina } from './jina.ts'
import { ollama, ollamaEmbeddings } from './ollama.ts'
import { openai } from './openai.ts'
import type { EmbeddingsRequest } from './request.ts'
import { type EmbeddingsResponse, usageOf } from './response.ts'
import { titan } from './titan.ts'
import { vertex, vertexContent } from './vertex.ts'
import { voyage } from './voyage.ts'

/** Texts to vectors. */
export const embeddings: Operation<EmbeddingsRequest, EmbeddingsResponse> = {
  name: 'embeddings',
  dialects: [openai, geminiBatch, cohere, voyage, jina, gemini, vertex, vertexContent],
  clientDialects: [ollama, ollamaEmbeddings, titan, cohereInvoke],
  counted: {},
  usageOf,
}
