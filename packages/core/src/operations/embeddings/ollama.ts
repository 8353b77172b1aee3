import { type Json, pointer, put } from '../../base/json/json.ts'
import { complain } from '../../formats/ollama/validate.ts'
import * as z from '../../formats/shared/body-schema.ts'
import {
  takeAny,
  takeBoolean,
  takeNumber,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../../formats/shared/json-fields.ts'
import { isHarmless, loss } from '../../formats/shared/report.ts'
import { arrayOf, bodyCheck } from '../../formats/shared/validate.ts'
import { type ClientDialect, type OperationContext, reportUnread } from '../operation.ts'
import type { EmbeddingInput, EmbeddingsRequest, SettingName } from './request.ts'
import { type EmbeddingsResponse, invalidResponse, toNumbers } from './response.ts'

type OllamaDialect = ClientDialect<EmbeddingsRequest, EmbeddingsResponse>

const shared = { model: z.string().min(1), options: z.looseObject({}).nullish() }

const texts = arrayOf(z.string(), 'an array of strings').min(1)
const embedSchema = z.looseObject({
  ...shared,
  input: z.union([z.string().min(1), texts], { error: 'a string or an array of strings' }),
  truncate: z.boolean().nullish(),
  dimensions: z.number().min(1).nullish(),
})
const embeddingsSchema = z.looseObject({ ...shared, prompt: z.string().min(1) })

function decodeInputs(input: Json): EmbeddingInput[] {
  if (!Array.isArray(input)) return [{ at: '/input', text: String(input) }]
  return input.map((text, index) => ({ at: pointer('/input', index), text: String(text) }))
}

/** Reports the fields that are not read: settings of the machine as notes. */
function reportRest(fields: Unread, context: OperationContext): void {
  const options = unread(takeObject(fields, 'options') ?? {})
  for (const [at, rest] of [['', fields] as const, ['/options', options] as const])
    for (const key of Object.keys(rest))
      if (rest[key] != null && isHarmless(key)) {
        rest[key] = undefined
        context.report.add(
          loss(pointer(at, key), `${key} has no counterpart in the API of the upstream`, 'unsupported', 'note'),
        )
      }
  reportUnread(fields, context.report)
  reportUnread(options, context.report, '/options')
}

/** Ollama's `/api/embed`, for clients only. */
export const ollama: OllamaDialect = {
  name: 'ollama',
  validate: bodyCheck(embedSchema, complain),

  decodeRequest(body, context) {
    const fields = unread(body)
    const at: { [S in SettingName]?: string } = {}
    const request: { -readonly [K in keyof EmbeddingsRequest]: EmbeddingsRequest[K] } = {
      model: takeString(fields, 'model') ?? '',
      inputs: decodeInputs(takeAny(fields, 'input') ?? []),
      encoding: 'float',
      at,
    }
    put(request, 'dimensions', takeNumber(fields, 'dimensions'))
    const truncates = takeBoolean(fields, 'truncate')
    if (truncates !== undefined) request.truncate = truncates ? 'end' : 'none'
    if (request.dimensions !== undefined) at.dimensions = '/dimensions'
    if (request.truncate !== undefined) at.truncate = '/truncate'
    reportRest(fields, context)
    return request
  },

  encodeResponse: ({ model, vectors, usage }, { request }) => ({
    model: model ?? request.model,
    embeddings: vectors.map(toNumbers),
    ...(usage === undefined ? {} : { prompt_eval_count: usage.input.total }),
  }),
}

/** Ollama's older `/api/embeddings`: one text, one vector, and no counts. */
export const ollamaEmbeddings: OllamaDialect = {
  name: 'ollama-embeddings',
  validate: bodyCheck(embeddingsSchema, complain),

  decodeRequest(body, context) {
    const fields = unread(body)
    const model = takeString(fields, 'model') ?? ''
    const text = takeString(fields, 'prompt') ?? ''
    reportRest(fields, context)
    return { model, inputs: [{ at: '/prompt', text }], encoding: 'float', at: {} }
  },

  encodeResponse({ vectors: [vector] }) {
    if (vector === undefined) throw invalidResponse('it is empty')
    return { embedding: toNumbers(vector) }
  },
}
