import * as z from 'zod'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { complain } from '../../formats/chat/validate.ts'
import { takeAny, takeNumber, takeString, unread } from '../../formats/shared/json-fields.ts'
import { pointer } from '../../formats/shared/pointers.ts'
import { loss } from '../../formats/shared/report.ts'
import { validateBody } from '../../formats/shared/validate.ts'
import type { Dialect } from '../operation.ts'
import { reportUnread } from '../operation.ts'
import { textsOrTokens } from '../texts-or-tokens.ts'
import {
  type EmbeddingInput,
  type EmbeddingsRequest,
  encodeTask,
  inputsAsTexts,
  reportUnsupportedSettings,
  type SettingName,
  type Task,
} from './request.ts'
import {
  checkVectors,
  decodeVector,
  type EmbeddingsResponse,
  inOrder,
  inputUsage,
  invalidResponse,
  toBase64,
  toNumbers,
} from './response.ts'

const schema = z.looseObject({
  model: z.string().min(1),
  input: textsOrTokens(1),
  dimensions: z.number({ error: 'an integer' }).int({ error: 'an integer' }).min(1).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  user: z.string().nullish(),
})

/** Values of `input_type`. OpenAI has no such field; several servers of its dialect accept one of these. */
const taskWords: { readonly [word: string]: Task } = {
  query: 'query',
  search_query: 'query',
  document: 'document',
  passage: 'document',
  search_document: 'document',
  classification: 'classification',
  clustering: 'clustering',
}

function decodeInputs(input: Json): EmbeddingInput[] {
  if (typeof input === 'string') return [{ at: '/input', text: input }]
  const items = Array.isArray(input) ? input : []
  if (typeof items[0] === 'number') return [{ at: '/input', tokens: items as number[] }]
  return items.map((item, index) => ({
    at: pointer('/input', index),
    ...(typeof item === 'string' ? { text: item } : { tokens: item as number[] }),
  }))
}

/** OpenAI's embeddings, which a dozen compatible servers share. */
export const openai: Dialect<EmbeddingsRequest, EmbeddingsResponse> = {
  name: 'openai',
  errors: 'chat',
  validate: (body) => validateBody(schema, body, complain),

  decodeRequest(body, { report }) {
    const { stream: _, ...fields } = unread(body)
    const at: { [S in SettingName]?: string } = {}
    const request: { -readonly [K in keyof EmbeddingsRequest]: EmbeddingsRequest[K] } = {
      model: takeString(fields, 'model') ?? '',
      inputs: decodeInputs(takeAny(fields, 'input') ?? []),
      encoding: takeString(fields, 'encoding_format') === 'base64' ? 'base64' : 'float',
      // OpenAI rejects inputs that are too long, so they must not be truncated silently.
      truncate: 'none',
      at,
    }
    put(request, 'dimensions', takeNumber(fields, 'dimensions'))
    put(request, 'user', takeString(fields, 'user'))
    const word = fields.input_type
    if (typeof word === 'string' && Object.hasOwn(taskWords, word)) {
      put(request, 'task', taskWords[word])
      delete fields.input_type
    }
    if (request.dimensions !== undefined) at.dimensions = '/dimensions'
    if (request.user !== undefined) at.user = '/user'
    if (request.task !== undefined) at.task = '/input_type'
    reportUnread(fields, report)
    return request
  },

  encodeRequest(request, context) {
    const { inputs, dimensions, user, encoding } = request
    encodeTask(request, {}, context)
    reportUnsupportedSettings(request, ['title', 'truncate'], context)
    const tokens = inputs.map((input) => ('tokens' in input ? [...input.tokens] : undefined))
    const out: JsonObject = {
      model: context.target.model,
      input: tokens.every((list) => list !== undefined) ? tokens : inputsAsTexts(inputs, context),
      encoding_format: encoding,
    }
    put(out, 'dimensions', dimensions)
    put(out, 'user', user)
    return out
  },

  decodeResponse: (body, context) => decodeList(body, context),

  encodeResponse({ model, vectors, usage }, { request, report }) {
    if (usage === undefined)
      report.add(loss('', 'the upstream counted no tokens: usage says 0', 'approximated', 'note'))
    const tokens = usage?.input.total ?? 0
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: request.encoding === 'base64' ? toBase64(vector) : toNumbers(vector),
      })),
      model: model ?? request.model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }
  },

  isResponse: ({ data }) => Array.isArray(data),
  tapResponse(body) {
    const usage = listUsage(body.usage)
    return usage === undefined ? {} : { usage }
  },
}

const listUsage = (usage: Json | undefined) =>
  isObject(usage) ? inputUsage(usage.prompt_tokens ?? usage.total_tokens, usage.image_tokens) : undefined

/** Decodes `{data: [{index, embedding}], model, usage}`, the response of several providers. */
export function decodeList(body: Json, context: Parameters<typeof checkVectors>[1]): EmbeddingsResponse {
  if (!isObject(body) || !Array.isArray(body.data)) throw invalidResponse('it has no data')
  const items = inOrder(body.data, (item) => (isObject(item) ? item.index : undefined))
  const vectors = items.map((item) => (isObject(item) ? decodeVector(item.embedding) : undefined))
  const usage = listUsage(body.usage)
  return {
    vectors: checkVectors(vectors, context),
    ...(typeof body.model === 'string' ? { model: body.model } : {}),
    ...(usage === undefined ? {} : { usage }),
  }
}
