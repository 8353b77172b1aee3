import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { respell } from '../../formats/gemini/spelling.ts'
import type { Usage } from '../../formats/ir.ts'
import { pointer } from '../../formats/shared/pointer.ts'
import type { Dialect, TargetContext } from '../operation.ts'
import { checkVectors, type EmbeddingsAnswer, inputUsage, unusable } from './answer.ts'
import { decodeOne, shared } from './gemini-decode.ts'
import { validateBatch, validateOne } from './gemini-validate.ts'
import { textsOf } from './inputs.ts'
import type { EmbeddingInput, EmbeddingPart, EmbeddingsRequest } from './request.ts'
import { reportSettings, type TaskWords, taskWord } from './settings.ts'
import { decodeVector, toNumbers } from './vector.ts'

type EmbeddingsDialect = Dialect<EmbeddingsRequest, EmbeddingsAnswer>

export const words: TaskWords = {
  query: 'RETRIEVAL_QUERY',
  document: 'RETRIEVAL_DOCUMENT',
  similarity: 'SEMANTIC_SIMILARITY',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
  'question-answering': 'QUESTION_ANSWERING',
  'fact-verification': 'FACT_VERIFICATION',
  'code-query': 'CODE_RETRIEVAL_QUERY',
  'code-document': ['RETRIEVAL_DOCUMENT'],
}

export const usageFrom = (answer: JsonObject): Usage | undefined => {
  const { usageMetadata } = respell(answer)
  return isObject(usageMetadata) ? inputUsage(respell(usageMetadata).promptTokenCount) : undefined
}
const withUsage = (usage: Usage | undefined): JsonObject =>
  usage === undefined ? {} : { usageMetadata: { promptTokenCount: usage.input.total } }
const tapResponse: EmbeddingsDialect['tapResponse'] = (body) => {
  const usage = usageFrom(body)
  return usage === undefined ? {} : { usage }
}

/** `:embedContent`: one content, one vector. */
export const gemini: EmbeddingsDialect = {
  name: 'gemini',
  errors: 'gemini',
  modelInPath: '/{model}:embedContent',

  validate: validateOne,

  decodeRequest(body, context) {
    const { model, stream: _, ...rest } = body
    return { model: String(model), ...shared([decodeOne(rest, '', context)], context) }
  },

  encodeResponse: ({ vectors, usage }) => {
    const [vector] = vectors
    return { embedding: { values: vector === undefined ? [] : toNumbers(vector) }, ...withUsage(usage) }
  },
  isAnswer: ({ embedding }) => isObject(embedding),
  tapResponse: tapResponse,
}

export function encodeContent(input: EmbeddingInput, context: TargetContext): JsonObject {
  const parts: readonly EmbeddingPart[] =
    'parts' in input ? input.parts : [{ type: 'text', text: textsOf([input], context)[0] ?? '' }]
  return {
    parts: parts.map((part) =>
      part.type === 'text'
        ? { text: part.text }
        : part.type === 'image'
          ? { inlineData: { mimeType: part.mediaType, data: part.data } }
          : (part.value as JsonObject),
    ),
  }
}

/** `:batchEmbedContents`: what Google's own SDKs call, whatever the number of contents. */
export const geminiBatch: EmbeddingsDialect = {
  name: 'gemini-batch',
  errors: 'gemini',
  modelInPath: '/{model}:batchEmbedContents',

  validate: validateBatch,

  decodeRequest(body, context) {
    const { model, stream: _, requests, ...rest } = body
    const items = (Array.isArray(requests) ? requests : []).filter(isObject)
    const decoded = items.map((item, index) => decodeOne(withoutModel(item), pointer('/requests', index), context))
    return { model: String(model), ...shared(decoded, context, rest) }
  },

  encodeRequest(request, context) {
    const { inputs, dimensions, title } = request
    reportSettings(request, ['user'], context)
    const task = taskWord(request, words, context)
    const name = `models/${context.target.model}`
    const requests = inputs.map((input) => {
      const out: JsonObject = { model: name, content: encodeContent(input, context) }
      put(out, 'taskType', task)
      put(out, 'title', title)
      put(out, 'outputDimensionality', dimensions)
      return out
    })
    return { requests }
  },

  decodeResponse(body, context) {
    if (!isObject(body) || !Array.isArray(body.embeddings)) throw unusable('it has no embeddings')
    const vectors = body.embeddings.map((item) => (isObject(item) ? decodeVector(item.values) : undefined))
    const usage = usageFrom(body)
    return { vectors: checkVectors(vectors, context), ...(usage === undefined ? {} : { usage }) }
  },

  encodeResponse: ({ vectors, usage }) => ({
    embeddings: vectors.map((vector) => ({ values: toNumbers(vector) })),
    ...withUsage(usage),
  }),

  /** Each request within names the model again, with its collection in front. */
  passThroughEdit({ model: asked, requests }, { model }) {
    if (asked === model || !Array.isArray(requests)) return undefined
    return {
      requests: requests.map((item) =>
        isObject(item) && typeof item.model === 'string' ? renamed(item, model) : item,
      ),
    }
  },
  isAnswer: ({ embeddings }) => Array.isArray(embeddings),
  tapResponse: tapResponse,
}

const renamed = (item: JsonObject, model: string): JsonObject => {
  const own = String(item.model)
  const collection = own.startsWith('models/') ? 'models/' : ''
  return { ...item, model: `${collection}${model}` }
}

const withoutModel = ({ model: _, ...rest }: JsonObject): JsonObject => rest
