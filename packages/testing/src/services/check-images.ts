import { fromBase64 } from '../base/base64.ts'
import { asObject, asString, isObject, type Json } from '../base/json.ts'
import { detectImageType } from '../base/media-type.ts'
import type { FakeOperation, FormPart } from '../contract/request.ts'
import {
  badType,
  checkShape,
  fieldError,
  missingField,
  type RequestShape,
  tooLong,
} from '../formats/openai/check-fields.ts'
import type { WireError } from '../wire/errors.ts'
import { formFiles } from '../wire/form-fields.ts'
import type { ServiceRequest } from './service.ts'

const sizes = ['1024x1024', '1024x1536', '1536x1024', 'auto']
const earlier = ['256x256', '512x512', '1792x1024', '1024x1792']
const one = { kind: 'integer', min: 1, max: 10 } as const
const bothShape: RequestShape = {
  numbers: {
    n: one,
    output_compression: { kind: 'integer', min: 0, max: 100 },
    partial_images: { kind: 'integer', min: 0, max: 3 },
  },
  booleans: ['stream'],
  strings: ['prompt', 'user', 'size'],
  words: {
    quality: ['standard', 'hd', 'low', 'medium', 'high', 'auto'],
    response_format: ['url', 'b64_json'],
    output_format: ['png', 'jpeg', 'webp'],
    moderation: ['low', 'auto'],
    background: ['transparent', 'opaque', 'auto'],
  },
}
const shapes: Partial<Record<FakeOperation, RequestShape>> = {
  images: { ...bothShape, words: { ...bothShape.words, style: ['vivid', 'natural'] } },
  'image-edits': {
    ...bothShape,
    words: { ...bothShape.words, input_fidelity: ['high', 'low'] },
    others: ['images', 'mask'],
  },
  'image-variations': {
    numbers: { n: one },
    strings: ['user', 'size'],
    words: { response_format: ['url', 'b64_json'] },
  },
}
const mostImages = 16
const mostPixels = 4096

/** Returns OpenAI's error for an invalid image request, or undefined. */
export function checkImages(request: ServiceRequest): WireError | undefined {
  const { body, route, form } = request
  const operation = route.served ?? 'images'
  const error = checkShape({ ...body, model: body.model ?? request.model }, shapes[operation] ?? {})
  if (error) return error
  return (
    checkModel(request) ??
    (operation === 'image-variations' ? undefined : checkPrompt(body.prompt, request.model)) ??
    (operation === 'images' ? undefined : form ? checkFiles(form, operation) : checkPictures(body.images)) ??
    checkSize(body.size, request.model)
  )
}

const unknown = (param: string): WireError => fieldError(`Unknown parameter: '${param}'.`, param, 'unknown_parameter')

function checkModel({ body, model }: ServiceRequest): WireError | undefined {
  if (isGptImage(model) && body.response_format !== undefined) return unknown('response_format')
  if (!isDalle(model)) {
    if (typeof body.partial_images === 'number' && body.stream !== true && body.partial_images > 0)
      return fieldError("The 'partial_images' parameter is only allowed when 'stream' is enabled.", 'partial_images')
    return undefined
  }
  const later = ['background', 'moderation', 'output_format', 'output_compression', 'partial_images', 'stream']
  const stranger = later.find((key) => body[key] !== undefined && body[key] !== null)
  if (stranger !== undefined) return unknown(stranger)
  if (model === 'dall-e-3' && typeof body.n === 'number' && body.n > 1)
    return fieldError('You must provide n=1 for this model.', 'n', 'invalid_value')
  return undefined
}

function checkPrompt(prompt: Json | undefined, model: string): WireError | undefined {
  if (typeof prompt !== 'string') return missingField('prompt')
  if (prompt === '') {
    const words =
      "Invalid 'prompt': empty string. Expected a string with minimum length 1, but got an empty string instead."
    return fieldError(words, 'prompt', 'empty_string')
  }
  const most = model === 'dall-e-2' ? 1000 : model === 'dall-e-3' ? 4000 : 32_000
  return prompt.length > most ? tooLong('prompt', most, prompt.length) : undefined
}

/** Checks a size: the later models accept any with sides that are multiples of 16. */
function checkSize(value: Json | undefined, model: string): WireError | undefined {
  if (value === undefined || value === null) return undefined
  const size = asString(value)
  const known = isGptImage(model) && model !== 'gpt-image-2' ? sizes : [...sizes, ...earlier]
  if (known.includes(size)) return undefined
  const [width = 0, height = 0] = /^(\d{2,4})x(\d{2,4})$/.exec(size)?.slice(1).map(Number) ?? []
  const free = !isDalle(model) && known.length > sizes.length
  if (free && [width, height].every((side) => side >= 16 && side <= mostPixels && side % 16 === 0)) return undefined
  const quoted = known.map((name) => `'${name}'`)
  return fieldError(
    `Invalid value: '${size}'. Supported values are: ${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}.`,
    'size',
    'invalid_value',
  )
}

const badImage = (param: string): WireError => ({
  status: 400,
  message: 'Invalid image data.',
  type: 'image_generation_user_error',
  param,
  code: 'invalid_image_file',
})

const tooMany = (param: string, count: number): WireError =>
  fieldError(
    `Invalid '${param}': array too long. Expected an array with maximum length ${mostImages}, but got an array with length ${count} instead.`,
    param,
    'array_above_max_length',
  )

function checkFiles(form: readonly FormPart[], operation: FakeOperation): WireError | undefined {
  const files = formFiles(form, 'image')
  if (files.length === 0) return missingField('image')
  if (files.length > mostImages) return tooMany('image', files.length)
  const masks = formFiles(form, 'mask')
  const broken = [...files, ...masks].find(({ bytes }) => {
    const type = detectImageType(bytes)
    return type === undefined || type === 'image/gif' || (operation === 'image-variations' && type !== 'image/png')
  })
  return broken && badImage(broken.name)
}

/** Checks the images of a JSON body: a URL, of which the demo reads only data URLs, or a file id. */
function checkPictures(value: Json | undefined): WireError | undefined {
  if (value === undefined || value === null) return missingField('images')
  if (!Array.isArray(value)) return badType('images', 'array of objects', value)
  if (value.length === 0) return missingField('images')
  if (value.length > mostImages) return tooMany('images', value.length)
  for (const [index, item] of value.entries()) {
    const at = `images[${index}]`
    if (!isObject(item)) return badType(at, 'object', item)
    const { image_url: url, file_id: id } = asObject(item)
    if (typeof url !== 'string' && typeof id !== 'string') return missingField(`${at}.image_url`)
    const data = /^data:[^,]*;base64,(.*)$/s.exec(asString(url))?.[1]
    if (data === undefined && typeof url === 'string' && !/^https?:\/\//.test(url)) return badImage(`${at}.image_url`)
    if (data !== undefined && detectImageType(fromBase64(data.slice(0, 64)) ?? new Uint8Array()) === undefined)
      return badImage(`${at}.image_url`)
  }
  return undefined
}

/** The DALL·E family has other fields, and no usage in responses. */
export const isDalle = (model: string): boolean => /^dall-e/.test(model)

/** The GPT image family by its real names. The demo's own names accept the fields of both families. */
const isGptImage = (model: string): boolean => /^(chat)?gpt-/.test(model)
