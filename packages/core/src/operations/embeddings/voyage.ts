import { put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { Dialect } from '../operation.ts'
import type { EmbeddingsAnswer } from './answer.ts'
import { textsOf } from './inputs.ts'
import { decodeList, openai } from './openai.ts'
import type { EmbeddingsRequest } from './request.ts'
import { cutsAtEnd, reportSettings, type TaskWords, taskWord } from './settings.ts'

const words: TaskWords = {
  query: 'query',
  document: 'document',
  'question-answering': ['query'],
  'fact-verification': ['query'],
  'code-query': ['query'],
  'code-document': ['document'],
}

/** Voyage AI's embeddings: the answer is OpenAI's, the request has its own names. */
export const voyage: Dialect<EmbeddingsRequest, EmbeddingsAnswer> = {
  name: 'voyage',
  errors: 'chat',

  encodeRequest(request, context) {
    const { inputs, encoding, dimensions } = request
    reportSettings(request, ['title', 'user'], context)
    const out: JsonObject = { model: context.target.model, input: textsOf(inputs, context) }
    put(out, 'input_type', taskWord(request, words, context))
    put(out, 'truncation', cutsAtEnd(request, context))
    put(out, 'output_dimension', dimensions)
    if (encoding === 'base64') out.encoding_format = 'base64'
    return out
  },

  decodeResponse: decodeList,
  isAnswer: ({ data }) => Array.isArray(data),
  tapResponse: openai.tapResponse,
}
