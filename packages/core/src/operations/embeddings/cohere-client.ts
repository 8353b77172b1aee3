import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { complain } from '../../formats/chat/validate.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { takeAny, takeNumber, takeString, unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { arrayOf, bodyCheck } from '../../formats/shared/validate.ts'
import { type Dialect, type OperationContext, reportUnread } from '../operation.ts'
import type { EmbeddingInput, EmbeddingPart, EmbeddingsRequest, SettingName, Task } from './request.ts'
import { type EmbeddingsResponse, toBase64, toNumbers } from './response.ts'

const schema = z
  .looseObject({
    model: z.string().min(1),
    texts: arrayOf(z.string(), 'an array of strings').nullish(),
    images: arrayOf(z.string(), 'an array of strings').nullish(),
    inputs: arrayOf(
      z.looseObject({ content: arrayOf(z.looseObject({ type: z.string() })) }),
      'an array of objects',
    ).nullish(),
    input_type: z.string().nullish(),
    embedding_types: arrayOf(z.string(), 'an array of strings').nullish(),
    output_dimension: z.number({ error: 'an integer' }).int({ error: 'an integer' }).min(1).nullish(),
    truncate: z.string().nullish(),
  })
  .refine(({ texts, images, inputs }) => [texts, images, inputs].some((list) => list != null && list.length > 0), {
    path: ['texts'],
    message: 'a non-empty array',
  })

const tasks: { readonly [word: string]: Task } = {
  search_query: 'query',
  search_document: 'document',
  classification: 'classification',
  clustering: 'clustering',
}

const truncations: { readonly [word: string]: EmbeddingsRequest['truncate'] } = {
  NONE: 'none',
  START: 'start',
  END: 'end',
}

const dataUrl = /^data:(image\/[\w.+-]+);base64,(.*)$/s

/** Returns the part for an image: the API accepts data URLs only. */
function imagePart(url: Json | undefined, value: Json): EmbeddingPart {
  const [, mediaType, data] = typeof url === 'string' ? (dataUrl.exec(url) ?? []) : []
  return mediaType === undefined || data === undefined ? { type: 'native', value } : { type: 'image', mediaType, data }
}

function partOf(part: Json): EmbeddingPart {
  if (!isObject(part)) return { type: 'native', value: part }
  const { type, text, image_url: image } = part
  if (type === 'text' && typeof text === 'string') return { type: 'text', text }
  return type === 'image_url'
    ? imagePart(isObject(image) ? image.url : undefined, part)
    : { type: 'native', value: part }
}

function inputsOf(texts: Json, images: Json, inputs: Json): EmbeddingInput[] {
  const list = (value: Json): readonly Json[] => (Array.isArray(value) ? value : [])
  return [
    ...list(texts).map((text, index) => ({ at: pointer('/texts', index), text: String(text) })),
    ...list(images).map((url, index) => ({ at: pointer('/images', index), parts: [imagePart(url, url)] })),
    ...list(inputs).map((input, index) => ({
      at: pointer('/inputs', index),
      parts: list(isObject(input) ? (input.content ?? null) : null).map(partOf),
    })),
  ]
}

/** Returns the encoding of the vectors. Other types than numbers and base64 are not vectors that every upstream has. */
function encodingOf(types: Json, { report }: OperationContext): EmbeddingsRequest['encoding'] {
  if (!Array.isArray(types) || types.length === 0) return 'float'
  const known = types.filter((type) => type === 'float' || type === 'base64')
  for (const [index, type] of types.entries())
    if (type !== known[0])
      report.add(
        loss(
          pointer('/embedding_types', index),
          `vectors of the type ${String(type)} are not returned`,
          'unsupported',
          known.length === 0 ? 'fatal' : 'warn',
        ),
      )
  return known[0] === 'base64' ? 'base64' : 'float'
}

/** The clients' half of Cohere's v2 embed endpoint. */
export const cohereClient = {
  validate: bodyCheck(schema, complain),

  decodeRequest(body, context) {
    const fields = unread(body)
    const at: { [S in SettingName]?: string } = {}
    const task = takeString(fields, 'input_type')
    const request: { -readonly [K in keyof EmbeddingsRequest]: EmbeddingsRequest[K] } = {
      model: takeString(fields, 'model') ?? '',
      inputs: inputsOf(
        takeAny(fields, 'texts') ?? null,
        takeAny(fields, 'images') ?? null,
        takeAny(fields, 'inputs') ?? null,
      ),
      encoding: encodingOf(takeAny(fields, 'embedding_types') ?? null, context),
      at,
    }
    put(request, 'dimensions', takeNumber(fields, 'output_dimension'))
    const truncate = takeString(fields, 'truncate')
    if (truncate !== undefined) put(request, 'truncate', truncations[truncate.toUpperCase()])
    // Images have a type of their own in earlier versions: their part states it.
    if (task !== undefined && task !== 'image') {
      put(request, 'task', Object.hasOwn(tasks, task) ? tasks[task] : undefined)
      if (request.task === undefined)
        context.report.add(loss('/input_type', `input_type '${task}' is unknown`, 'unsupported'))
    }
    if (request.dimensions !== undefined) at.dimensions = '/output_dimension'
    if (request.truncate !== undefined) at.truncate = '/truncate'
    if (request.task !== undefined) at.task = '/input_type'
    reportUnread(fields, context.report)
    return request
  },

  encodeResponse({ vectors, usage }, { request, newId }) {
    const { encoding, inputs } = request
    const texts = inputs.flatMap((input) => ('text' in input ? [input.text] : []))
    const embeddings: JsonObject = {
      [encoding]: encoding === 'base64' ? vectors.map(toBase64) : vectors.map(toNumbers),
    }
    return {
      id: newId('embed-'),
      embeddings,
      texts,
      response_type: 'embeddings_by_type',
      meta: {
        api_version: { version: '2' },
        ...(usage === undefined ? {} : { billed_units: { input_tokens: usage.input.total } }),
      },
    }
  },
} satisfies Partial<Dialect<EmbeddingsRequest, EmbeddingsResponse>>
