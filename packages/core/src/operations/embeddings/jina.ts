import { type JsonObject, put } from '../../base/json/json.ts'
import { loss } from '../../formats/shared/report.ts'
import type { Dialect, TargetContext } from '../operation.ts'
import {
  type EmbeddingsRequest,
  encodeTask,
  inputsAsParts,
  joinTexts,
  reportUnsupportedSettings,
  type TaskWords,
  truncatesAtEnd,
} from './request.ts'
import { type EmbeddingsResponse, listResponse } from './response.ts'

const retrieval: TaskWords = {
  query: 'retrieval.query',
  document: 'retrieval.passage',
  similarity: 'text-matching',
  'question-answering': ['retrieval.query'],
  'fact-verification': ['retrieval.query'],
  'code-query': ['retrieval.query'],
  'code-document': ['retrieval.passage'],
}
const newest: TaskWords = { ...retrieval, classification: 'classification', clustering: 'clustering' }

/** Task names by model generation. The first marker found in the model's name applies. */
const generations: readonly (readonly [inName: string, words: TaskWords])[] = [
  ['-v2', {}],
  ['-v3', { ...retrieval, classification: 'classification', clustering: 'separation' }],
  ['-v4', { ...retrieval, 'code-query': 'code.query', 'code-document': 'code.passage' }],
  ['-v5', newest],
]
const wordsOf = (model: string): TaskWords => generations.find(([inName]) => model.includes(inName))?.[1] ?? newest

/** Encodes texts as strings, and an image as an object of its own. */
function encodeInputs(request: EmbeddingsRequest, context: TargetContext): (string | JsonObject)[] {
  return inputsAsParts(request.inputs, context).map((parts, index) => {
    const [first, ...others] = parts
    if (first?.type === 'image' && others.length === 0) return { image: first.data }
    const at = request.inputs[index]?.at ?? ''
    if (parts.some(({ type }) => type === 'image'))
      context.report.add(loss(at, 'the upstream cannot embed a text and an image as one input', 'unsupported', 'fatal'))
    return joinTexts(parts, at, context.report)
  })
}

/** Jina's embeddings: the response is OpenAI's, the request has its own field names. */
export const jina: Dialect<EmbeddingsRequest, EmbeddingsResponse> = {
  name: 'jina',
  errors: 'chat',
  ...listResponse,

  encodeRequest(request, context) {
    const { encoding, dimensions } = request
    reportUnsupportedSettings(request, ['title', 'user'], context)
    const out: JsonObject = {
      model: context.target.model,
      input: encodeInputs(request, context),
      embedding_type: encoding,
    }
    put(out, 'task', encodeTask(request, wordsOf(context.target.model), context))
    put(out, 'dimensions', dimensions)
    // Rejecting long inputs is the default, and older models don't know the field.
    if (truncatesAtEnd(request, context) === true) out.truncate = true
    return out
  },
}
