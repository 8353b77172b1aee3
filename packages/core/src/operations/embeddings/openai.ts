import { type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { complain } from '../../formats/chat/validate.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { takeAny, takeNumber, takeString, unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { bodyCheck, textsOrTokens } from '../../formats/shared/validate.ts'
import { type Dialect, reportUnread } from '../operation.ts'
import {
  type EmbeddingInput,
  type EmbeddingsRequest,
  encodeTask,
  inputsAsTexts,
  reportUnsupportedSettings,
  type SettingName,
  type Task,
} from './request.ts'
import { type EmbeddingsResponse, listResponse, toBase64, toNumbers } from './response.ts'

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
  ...listResponse,
  validate: bodyCheck(schema, complain),

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

  encodeResponse({ model, vectors, usage }, { request, report }) {
    if (usage === undefined)
      report.add(loss('', 'the upstream reported no usage; zeros are sent', 'approximated', 'note'))
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
}
