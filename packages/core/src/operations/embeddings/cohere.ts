import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import { loss } from '../../formats/shared/report.ts'
import type { Dialect } from '../operation.ts'
import { cohereClient } from './cohere-client.ts'
import {
  type EmbeddingPart,
  type EmbeddingsRequest,
  encodeTask,
  inputsAsParts,
  reportUnsupportedSettings,
  type TaskWords,
} from './request.ts'
import { checkVectors, decodeVector, type EmbeddingsResponse, inputUsage, invalidResponse } from './response.ts'

const words: TaskWords = {
  query: 'search_query',
  document: 'search_document',
  classification: 'classification',
  clustering: 'clustering',
  'question-answering': ['search_query'],
  'fact-verification': ['search_query'],
  'code-query': ['search_query'],
  'code-document': ['search_document'],
}

const encodePart = (part: EmbeddingPart): JsonObject =>
  part.type === 'image'
    ? { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${part.data}` } }
    : { type: 'text', text: part.type === 'text' ? part.text : '' }

const usageOf = (meta: JsonObject) => {
  const units = isObject(meta.billed_units) ? meta.billed_units : isObject(meta.tokens) ? meta.tokens : {}
  const { input_tokens: text, image_tokens: image } = units
  return inputUsage(typeof text === 'number' && typeof image === 'number' ? text + image : (text ?? image), image)
}

/** Cohere's v2 embed endpoint. */
export const cohere: Dialect<EmbeddingsRequest, EmbeddingsResponse> = {
  name: 'cohere',
  errors: 'chat',
  ...cohereClient,

  encodeRequest(request, context) {
    const { encoding, dimensions, truncate } = request
    reportUnsupportedSettings(request, ['title', 'user'], context)
    let task = encodeTask(request, words, context)
    if (task === undefined) {
      task = 'search_document'
      const made = `the upstream requires input_type; Modelgate set it to '${task}'`
      context.report.add(loss(request.at.task ?? '/input_type', made, 'approximated', 'note'))
    }
    const inputs = inputsAsParts(request.inputs, context)
    const texts = inputs.map(([first, ...others]) =>
      first?.type === 'text' && others.length === 0 ? first.text : undefined,
    )
    const out: JsonObject = {
      model: context.target.model,
      input_type: task,
      embedding_types: [encoding],
      ...(texts.every((text) => text !== undefined)
        ? { texts }
        : { inputs: inputs.map((parts) => ({ content: parts.map(encodePart) })) }),
    }
    put(out, 'output_dimension', dimensions)
    put(out, 'truncate', truncate?.toUpperCase())
    return out
  },

  decodeResponse(body, context) {
    if (!isObject(body)) throw invalidResponse('it is not an object')
    const { embeddings, meta } = body
    // The request names one encoding. Older responses have a plain list.
    const lists = isObject(embeddings) ? [embeddings.float, embeddings.base64].find(Array.isArray) : embeddings
    if (!Array.isArray(lists)) throw invalidResponse('it has no embeddings')
    const usage = isObject(meta) ? usageOf(meta) : undefined
    return { vectors: checkVectors(lists.map(decodeVector), context), ...(usage === undefined ? {} : { usage }) }
  },

  isResponse: ({ embeddings }) => typeof embeddings === 'object' && embeddings !== null,
  tapResponse(body) {
    const usage = isObject(body.meta) ? usageOf(body.meta) : undefined
    return usage === undefined ? {} : { usage }
  },
}
