import { type JsonObject, put } from '../../base/json/json.ts'
import type { Dialect } from '../operation.ts'
import {
  type EmbeddingsRequest,
  encodeTask,
  inputsAsTexts,
  reportUnsupportedSettings,
  type TaskWords,
  truncatesAtEnd,
} from './request.ts'
import { type EmbeddingsResponse, listResponse } from './response.ts'

const words: TaskWords = {
  query: 'query',
  document: 'document',
  'question-answering': ['query'],
  'fact-verification': ['query'],
  'code-query': ['query'],
  'code-document': ['document'],
}

/** Voyage AI's embeddings: the response is OpenAI's, the request has its own field names. */
export const voyage: Dialect<EmbeddingsRequest, EmbeddingsResponse> = {
  name: 'voyage',
  errors: 'chat',
  ...listResponse,

  encodeRequest(request, context) {
    const { inputs, encoding, dimensions } = request
    reportUnsupportedSettings(request, ['title', 'user'], context)
    const out: JsonObject = { model: context.target.model, input: inputsAsTexts(inputs, context) }
    put(out, 'input_type', encodeTask(request, words, context))
    put(out, 'truncation', truncatesAtEnd(request, context))
    put(out, 'output_dimension', dimensions)
    if (encoding === 'base64') out.encoding_format = 'base64'
    return out
  },
}
