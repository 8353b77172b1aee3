import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { copyInCamelCase, spellingOf } from '../../formats/gemini/spelling.ts'
import type { Usage } from '../../formats/ir.ts'
import { takeBoolean, takeNumber, takeString, type Unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { type Dialect, type OperationContext, reportUnread, type TargetContext } from '../operation.ts'
import { validateBatch, validateOne } from './gemini-validate.ts'
import {
  type EmbeddingInput,
  type EmbeddingPart,
  type EmbeddingsRequest,
  encodeTask,
  inputsAsTexts,
  reportUnsupportedSettings,
  type SettingName,
  type Task,
  type TaskWords,
} from './request.ts'
import {
  checkVectors,
  decodeVector,
  type EmbeddingsResponse,
  inputUsage,
  invalidResponse,
  toNumbers,
} from './response.ts'

type EmbeddingsDialect = Dialect<EmbeddingsRequest, EmbeddingsResponse>

export const taskWords: TaskWords = {
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
  const { usageMetadata } = copyInCamelCase(answer)
  return isObject(usageMetadata) ? inputUsage(copyInCamelCase(usageMetadata).promptTokenCount) : undefined
}
const withUsage = (usage: Usage | undefined): JsonObject =>
  usage === undefined ? {} : { usageMetadata: { promptTokenCount: usage.input.total } }
const tapAnswer: EmbeddingsDialect['tapResponse'] = (body) => {
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
    return { model: String(model), ...mergeRequests([decodeSingleRequest(rest, '', context)], context) }
  },

  encodeResponse: ({ vectors, usage }) => {
    const [vector] = vectors
    return { embedding: { values: vector === undefined ? [] : toNumbers(vector) }, ...withUsage(usage) }
  },
  isResponse: ({ embedding }) => isObject(embedding),
  tapResponse: tapAnswer,
}

export function encodeContent(input: EmbeddingInput, context: TargetContext): JsonObject {
  const parts: readonly EmbeddingPart[] =
    'parts' in input ? input.parts : [{ type: 'text', text: inputsAsTexts([input], context)[0] ?? '' }]
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

/** `:batchEmbedContents`, which Google's SDKs call for any number of contents. */
export const geminiBatch: EmbeddingsDialect = {
  name: 'gemini-batch',
  errors: 'gemini',
  modelInPath: '/{model}:batchEmbedContents',

  validate: validateBatch,

  decodeRequest(body, context) {
    const { model, stream: _, requests, ...rest } = body
    const items = (Array.isArray(requests) ? requests : []).filter(isObject)
    const decoded = items.map((item, index) =>
      decodeSingleRequest(withoutModel(item), pointer('/requests', index), context),
    )
    return { model: String(model), ...mergeRequests(decoded, context, rest) }
  },

  encodeRequest(request, context) {
    const { inputs, dimensions, title } = request
    reportUnsupportedSettings(request, ['user'], context)
    const task = encodeTask(request, taskWords, context)
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
    if (!isObject(body) || !Array.isArray(body.embeddings)) throw invalidResponse('it has no embeddings')
    const vectors = body.embeddings.map((item) => (isObject(item) ? decodeVector(item.values) : undefined))
    const usage = usageFrom(body)
    return { vectors: checkVectors(vectors, context), ...(usage === undefined ? {} : { usage }) }
  },

  encodeResponse: ({ vectors, usage }) => ({
    embeddings: vectors.map((vector) => ({ values: toNumbers(vector) })),
    ...withUsage(usage),
  }),

  /** Each request of a batch repeats the model, with its collection in front. */
  passThroughEdit({ model: requested, requests }, { model }) {
    if (requested === model || !Array.isArray(requests)) return undefined
    return {
      requests: requests.map((item) =>
        isObject(item) && typeof item.model === 'string' ? renamed(item, model) : item,
      ),
    }
  },
  isResponse: ({ embeddings }) => Array.isArray(embeddings),
  tapResponse: tapAnswer,
}

const renamed = (item: JsonObject, model: string): JsonObject => {
  const own = String(item.model)
  const collection = own.startsWith('models/') ? 'models/' : ''
  return { ...item, model: `${collection}${model}` }
}

const withoutModel = ({ model: _, ...rest }: JsonObject): JsonObject => rest

const tasks: { readonly [word: string]: Task } = {
  RETRIEVAL_QUERY: 'query',
  RETRIEVAL_DOCUMENT: 'document',
  SEMANTIC_SIMILARITY: 'similarity',
  CLASSIFICATION: 'classification',
  CLUSTERING: 'clustering',
  QUESTION_ANSWERING: 'question-answering',
  FACT_VERIFICATION: 'fact-verification',
  CODE_RETRIEVAL_QUERY: 'code-query',
}

export type Settings = { -readonly [S in Exclude<SettingName, 'user'>]?: EmbeddingsRequest[S] }

/** One content with its own settings; each request of a batch is one. */
export interface DecodedRequest {
  readonly input: EmbeddingInput
  readonly settings: Settings
  readonly at: { [S in SettingName]?: string }
}

/**
 * Decodes one request.
 *
 * @param at position of the request in the client's body
 */
function decodeSingleRequest(source: JsonObject, at: string, { report }: OperationContext): DecodedRequest {
  const { content, embedContentConfig, ...fields } = copyInCamelCase(source)
  const settings: Settings = {}
  const places: DecodedRequest['at'] = {}
  readSettings(fields, source, at, settings, places)
  reportUnread(fields, report, at)
  if (isObject(embedContentConfig)) {
    const below = pointer(at, spellingOf(source, 'embedContentConfig'))
    const inner = copyInCamelCase(embedContentConfig)
    readSettings(inner, embedContentConfig, below, settings, places)
    reportUnread(inner, report, below)
  }
  const input = decodeContent(isObject(content) ? content : {}, pointer(at, 'content'), report)
  return { input, settings, at: places }
}

export function readSettings(
  fields: Unread,
  source: JsonObject,
  at: string,
  into: Settings,
  places: DecodedRequest['at'],
): void {
  const note = (name: SettingName, key: string): string => {
    const place = pointer(at, spellingOf(source, key))
    places[name] = place
    return place
  }
  const word = fields.taskType
  if (word === 'TASK_TYPE_UNSPECIFIED') delete fields.taskType
  else if (typeof word === 'string' && Object.hasOwn(tasks, word)) {
    put(into, 'task', tasks[word])
    note('task', 'taskType')
    delete fields.taskType
  }
  const title = takeString(fields, 'title')
  if (title !== undefined) {
    into.title = title
    note('title', 'title')
  }
  const dimensions = takeNumber(fields, 'outputDimensionality')
  if (dimensions !== undefined) {
    into.dimensions = dimensions
    note('dimensions', 'outputDimensionality')
  }
  const cut = takeBoolean(fields, 'autoTruncate')
  if (cut !== undefined) {
    into.truncate = cut ? 'end' : 'none'
    note('truncate', 'autoTruncate')
  }
}

function decodeContent(content: JsonObject, at: string, report: OperationContext['report']): EmbeddingInput {
  // The role of an embedded text has no effect.
  const { parts, role: _, ...rest } = content
  reportUnread(rest, report, at)
  const list = (Array.isArray(parts) ? parts : []).map(decodePart)
  const [only] = list
  if (only?.type === 'text' && list.length === 1) return { at, text: only.text }
  return { at, parts: list }
}

function decodePart(part: Json): EmbeddingPart {
  if (!isObject(part)) return { type: 'native', value: part }
  const { text, inlineData } = copyInCamelCase(part)
  if (typeof text === 'string') return { type: 'text', text }
  const { mimeType, data } = isObject(inlineData) ? copyInCamelCase(inlineData) : {}
  if (typeof mimeType === 'string' && mimeType.startsWith('image/') && typeof data === 'string')
    return { type: 'image', mediaType: mimeType, data }
  return { type: 'native', value: part }
}

const names = ['task', 'title', 'dimensions', 'truncate'] as const

/** Merges the requests of a batch into one, because other dialects have one setting for all inputs. Differing settings are reported. */
export function mergeRequests(
  requests: readonly DecodedRequest[],
  { report }: OperationContext,
  rest: JsonObject = {},
): Omit<EmbeddingsRequest, 'model'> {
  reportUnread(rest, report)
  const settings: Settings = {}
  const at: DecodedRequest['at'] = {}
  const [first] = requests
  for (const name of names) {
    const differing = requests.find((one) => one.settings[name] !== first?.settings[name])
    if (differing !== undefined) {
      const place = differing.at[name] ?? first?.at[name] ?? '/requests'
      const severity = name === 'dimensions' ? 'fatal' : 'warn'
      report.add(loss(place, `the upstream accepts one ${name} for all inputs of a call`, 'unsupported', severity))
      continue
    }
    if (first?.settings[name] === undefined) continue
    Object.assign(settings, { [name]: first.settings[name] })
    put(at, name, first.at[name])
  }
  return { inputs: requests.map(({ input }) => input), encoding: 'float', at, ...settings }
}
