import { toBase64 } from '../base/base64.ts'
import { asList, asNumber, asString, type JsonObject } from '../base/json.ts'
import { hashText } from '../base/random.ts'
import { countTokens } from '../base/tokens.ts'
import { demoPicture } from '../demo/media.ts'
import { chat } from '../formats/chat/dialect.ts'
import type { RenderedAnswer } from '../formats/dialect.ts'
import { formFields, formFiles } from '../wire/form-fields.ts'
import { eventPiece, type Piece } from '../wire/piece.ts'
import type { RequestBody } from '../wire/request-body.ts'
import { checkImages, isDalle } from './check-images.ts'
import { readJson, type ScriptedRequest, type Service } from './service.ts'

const types = { numbers: ['n', 'output_compression', 'partial_images'], booleans: ['stream'] }
/** Output tokens of one image of a million pixels, by quality. */
const outputTokens: Readonly<Record<string, number>> = { low: 272, medium: 1056, high: 4160 }
const inputImageTokens = 194
const square = 1024

interface ImageOptions {
  readonly width: number
  readonly height: number
  readonly quality: string
  readonly background: string
  /** Text from which the picture is derived. */
  readonly seed: string
}

/** Returns the resolved image options: `auto` is decided here. */
function imageOptions({ body, form }: ScriptedRequest): ImageOptions {
  const [, width = square, height = square] = /^(\d+)x(\d+)$/.exec(asString(body.size))?.map(Number) ?? []
  const quality = asString(body.quality)
  const pictures = asList(body.images).map((image) => JSON.stringify(image))
  const files = formFiles(form, 'image').map(({ bytes }) => toBase64(bytes))
  return {
    width,
    height,
    quality: outputTokens[quality] === undefined ? 'medium' : quality,
    background: body.background === 'transparent' ? 'transparent' : 'opaque',
    seed: [asString(body.prompt), ...[...pictures, ...files].map((text) => hashText(text))].join('\n'),
  }
}

function picture(wish: ImageOptions, index: number, done = 1): string {
  const { width, height, background, seed } = wish
  const text = index === 0 ? seed : `${seed}\n${index}`
  return toBase64(demoPicture(text, { width, height, done, transparent: background === 'transparent' }))
}

function usageOf(
  { body, form, script }: ScriptedRequest,
  { quality, width, height }: ImageOptions,
  count: number,
): JsonObject {
  const images = (asList(body.images).length || formFiles(form, 'image').length) * inputImageTokens
  const text = countTokens(asString(body.prompt))
  const each = Math.round(((outputTokens[quality] ?? 0) * width * height) / square ** 2)
  const input = script.usage?.input ?? text + images
  const output = script.usage?.output ?? each * count
  return {
    input_tokens: input,
    input_tokens_details: { image_tokens: images, text_tokens: input - images },
    output_tokens: output,
    output_tokens_details: { image_tokens: output, text_tokens: 0 },
    total_tokens: input + output,
  }
}

/** Returns the picture's properties for responses and events. It is a PNG, whatever was requested. */
const imageProperties = ({ quality, background, width, height }: ImageOptions): JsonObject => ({
  background,
  output_format: 'png',
  quality,
  size: `${width}x${height}`,
})

function bodyOf(serving: ScriptedRequest): JsonObject {
  const { body, model, now } = serving
  const wish = imageOptions(serving)
  const dalle = isDalle(model)
  const count = asNumber(body.n) ?? 1
  const format = asString(body.response_format, dalle ? 'url' : 'b64_json')
  const data = Array.from({ length: count }, (_, index): JsonObject => {
    const image = picture(wish, index)
    return {
      // No host serves images, so the URL contains the image itself.
      ...(format === 'url' ? { url: `data:image/png;base64,${image}` } : { b64_json: image }),
      ...(model === 'dall-e-3' ? { revised_prompt: asString(body.prompt) } : {}),
    }
  })
  const created = Math.floor(now() / 1000)
  if (dalle) return { created, data }
  const { background, ...rest } = imageProperties(wish)
  return { created, background: background ?? null, data, ...rest, usage: usageOf(serving, wish, count) }
}

function* eventsOf(serving: ScriptedRequest, name: string): Generator<Piece> {
  const wish = imageOptions(serving)
  const partials = asNumber(serving.body.partial_images) ?? 0
  const created = { created_at: Math.floor(serving.now() / 1000), ...imageProperties(wish) }
  for (let index = 0; index < partials; index++) {
    const type = `${name}.partial_image`
    const image = picture(wish, 0, (index + 1) / (partials + 1))
    yield eventPiece(type, { type, partial_image_index: index, b64_json: image, ...created }, true)
  }
  const type = `${name}.completed`
  yield eventPiece(type, { type, b64_json: picture(wish, 0), ...created, usage: usageOf(serving, wish, 1) }, true)
}

const render =
  (name: string) =>
  (serving: ScriptedRequest): RenderedAnswer => ({ body: () => bodyOf(serving), events: () => eventsOf(serving, name) })

const readForm = ({ form }: RequestBody): JsonObject | undefined => form && formFields(form, types)

const common = {
  conventions: chat,
  defaultModel: 'dall-e-2',
  check: checkImages,
  directiveText: ({ body }: { readonly body: JsonObject }) => asString(body.prompt),
} as const

/** OpenAI's Images: a pattern for each prompt. */
export const images: Service = {
  ...common,
  operation: 'images',
  contentTypes: ['application/json'],
  read: readJson,
  render: render('image_generation'),
}

export const imageEdits: Service = {
  ...common,
  operation: 'image-edits',
  contentTypes: ['application/json', 'multipart/form-data'],
  read: (content) => readForm(content) ?? readJson(content),
  render: render('image_edit'),
}

export const imageVariations: Service = {
  ...common,
  operation: 'image-variations',
  contentTypes: ['multipart/form-data'],
  read: (content) => readForm(content),
  wantsStream: () => false,
  render: render('image_variation'),
}
