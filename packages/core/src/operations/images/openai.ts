import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import { decodeError } from '../../formats/chat/error.ts'
import { complain } from '../../formats/chat/validate.ts'
import type { BillableUnits, Usage } from '../../formats/ir.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { leftover, takeAny, takeString, unread } from '../../formats/shared/json-fields.ts'
import { arrayOf, validateBody } from '../../formats/shared/validate.ts'
import { expectedImages } from '../expected-use.ts'
import type { FieldTypes } from '../multipart/form.ts'
import { decodeUsage, tapEvents, toEvent } from '../openai-media.ts'
import type { Dialect } from '../operation.ts'
import { decodeImage, type ImageInput, type ImagesRequest, type ImagesResponse } from './request.ts'

type ImagesDialect = Dialect<ImagesRequest, ImagesResponse>

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : value === undefined ? [] : [value])

function decodeRequest(body: JsonObject): ImagesRequest {
  const { model: _, stream: _s, ...fields } = unread(body)
  const prompt = takeString(fields, 'prompt') ?? ''
  const images: ImageInput[] = []
  for (const key of ['image', 'images']) {
    const value = takeAny(fields, key)
    for (const [index, item] of listOf(value).entries()) {
      const image = decodeImage(item, Array.isArray(value) ? pointer(pointer('', key), index) : pointer('', key))
      if (image !== undefined) images.push(image)
    }
  }
  const maskValue = takeAny(fields, 'mask')
  const mask = maskValue === undefined ? undefined : decodeImage(maskValue, '/mask')
  return { prompt, images, settings: leftover(fields) ?? {}, ...(mask === undefined ? {} : { mask }) }
}

const formatOf = (mediaType: string): string => mediaType.replace(/^image\//, '')

function encodeUsage({ input, output }: Usage): JsonObject {
  const image = input.image ?? 0
  return {
    total_tokens: input.total + output.total,
    input_tokens: input.total,
    output_tokens: output.total,
    input_tokens_details: { text_tokens: Math.max(0, input.total - image), image_tokens: image },
  }
}

const encodeResponse: ImagesDialect['encodeResponse'] = ({ images, usage }, { now }) => {
  const body: JsonObject = {
    created: now(),
    data: images.map(({ data, revisedPrompt }) => ({
      b64_json: data,
      ...(revisedPrompt === undefined ? {} : { revised_prompt: revisedPrompt }),
    })),
  }
  const [first] = images
  if (first !== undefined) body.output_format = formatOf(first.mediaType)
  if (usage !== undefined) body.usage = encodeUsage(usage)
  return body
}

const countOf = (body: JsonObject): BillableUnits | undefined =>
  Array.isArray(body.data) && body.data.length > 0 ? { images: body.data.length } : undefined

const tapResponse: ImagesDialect['tapResponse'] = (body) => {
  if (isObject(body.error) && !Array.isArray(body.data)) return { error: decodeError(200, body) }
  const out: ReturnType<ImagesDialect['tapResponse']> = {}
  put(out, 'usage', decodeUsage(body.usage))
  put(out, 'units', countOf(body))
  return out
}

const stringOr = (value: Json | undefined, fallback: string): string => (typeof value === 'string' ? value : fallback)

/** Converts a whole response to events: each image becomes the event that completes it. */
const eventsOf =
  (type: string): NonNullable<ImagesDialect['toEvents']> =>
  (body, request) => {
    const images = listOf(body.data).filter(isObject)
    if (images.length === 0) throw new GatewayError('upstream_bad_response', 'The upstream responded without an image.')
    return [
      ...images.map((image, index) => {
        const event: JsonObject & { type: string } = {
          type,
          ...image,
          created_at: body.created ?? 0,
          size: stringOr(body.size, stringOr(request.size, 'auto')),
          quality: stringOr(body.quality, stringOr(request.quality, 'auto')),
          background: stringOr(body.background, stringOr(request.background, 'auto')),
          output_format: stringOr(body.output_format, 'png'),
        }
        // Usage is in the last event only, so that it is counted once.
        if (index === images.length - 1 && body.usage !== undefined) event.usage = body.usage
        return toEvent(event)
      }),
      { data: '[DONE]' },
    ]
  }

const streamsOf = (done: string): Pick<ImagesDialect, 'tapStream' | 'toEvents'> => ({
  tapStream: ({ n }) =>
    tapEvents({ done, ...(typeof n === 'number' ? { count: n } : {}), units: (_event, seen) => ({ images: seen }) }),
  toEvents: eventsOf(done),
})

const fields: FieldTypes = {
  model: 'text',
  prompt: 'text',
  image: 'files',
  mask: 'file',
  n: 'number',
  size: 'text',
  quality: 'text',
  background: 'text',
  output_format: 'text',
  output_compression: 'number',
  response_format: 'text',
  moderation: 'text',
  input_fidelity: 'text',
  partial_images: 'number',
  stream: 'boolean',
  user: 'text',
}

const common = {
  name: 'openai',
  errors: 'chat',
  decodeRequest,
  encodeResponse,
  isResponse: ({ data }: JsonObject) => Array.isArray(data),
  tapResponse,
  expectedUse: expectedImages,
} as const

/** OpenAI's `/images/generations`, which xAI, Together and others share. */
export const generations: ImagesDialect = {
  ...common,
  validate: (body) => validateBody(generationSchema, body, complain),
  ...streamsOf('image_generation.completed'),
}

function validateEdit(body: Json): JsonObject {
  const checked = validateBody(editSchema, body, complain)
  if (checked.images === undefined && checked.image === undefined)
    throw new GatewayError('invalid_request', "Missing required parameter: 'images'.", {
      param: 'images',
      code: 'missing_required_parameter',
    })
  return checked
}

/** `/images/edits`: uploads, and JSON with the addresses of images. */
export const edits: ImagesDialect = {
  ...common,
  validate: validateEdit,
  form: { types: fields, validate: (body) => void validateBody(editFormSchema, body, complain) },
  ...streamsOf('image_edit.completed'),
}

/** `/images/variations`: uploads only. */
export const variations: ImagesDialect = {
  ...common,
  defaultModel: 'dall-e-2',
  form: {
    types: { ...fields, image: 'file' },
    validate: (body) => void validateBody(variationFormSchema, body, complain),
  },
}

const integer = z.number({ error: 'an integer' }).int({ error: 'an integer' })
const word = z.string().nullish()

/** Types only: models differ in the sizes and qualities that they accept. */
const shared = {
  model: z.string().min(1),
  n: integer.min(1).nullish(),
  size: word,
  quality: word,
  background: word,
  output_format: word,
  output_compression: integer.min(0).max(100).nullish(),
  response_format: word,
  moderation: word,
  style: word,
  user: word,
  stream: z.boolean().nullish(),
  partial_images: integer.min(0).max(3).nullish(),
  input_fidelity: word,
}

const generationSchema = z.looseObject({ ...shared, prompt: z.string().min(1) })

const file = z.looseObject({ filename: z.string() }, { error: 'a file' })
const reference = z.union([z.string(), z.looseObject({})], { error: 'an object' })

const editSchema = z.looseObject({
  ...shared,
  prompt: z.string().min(1),
  // OpenAI uses `images`; xAI also `image`.
  images: arrayOf(reference).min(1).nullish(),
  image: z.union([reference, arrayOf(reference).min(1)], { error: 'an object' }).nullish(),
  mask: reference.nullish(),
})
const editFormSchema = z.looseObject({
  ...shared,
  prompt: z.string().min(1),
  image: arrayOf(file).min(1),
  mask: file.nullish(),
})
const variationFormSchema = z.looseObject({ ...shared, model: z.string().min(1).nullish(), image: file })
