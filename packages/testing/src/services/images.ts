import { toBase64 } from '../base/base64.ts'
import type { JsonObject } from '../base/json.ts'
import { listOf, numberOf, stringOf } from '../base/json.ts'
import { hashText } from '../base/random.ts'
import { countTokens } from '../base/tokens.ts'
import { demoPicture } from '../demo/media.ts'
import { chat } from '../formats/chat/dialect.ts'
import type { Rendering } from '../formats/dialect.ts'
import { fieldsOf, filesOf } from '../wire/form-fields.ts'
import { eventPiece, type Piece } from '../wire/piece.ts'
import type { RequestBody } from '../wire/request-body.ts'
import { checkImages } from './check-images.ts'
import { isDalle } from './image-models.ts'
import { readJson, type Service, type Serving } from './service.ts'

const types = { numbers: ['n', 'output_compression', 'partial_images'], booleans: ['stream'] }
/** Output tokens of one image of a million pixels, by quality. */
const outputTokens: Readonly<Record<string, number>> = { low: 272, medium: 1056, high: 4160 }
const inputImageTokens = 194
const square = 1024

interface Wish {
  readonly width: number
  readonly height: number
  readonly quality: string
  readonly background: string
  /** Text from which the picture is derived. */
  readonly seed: string
}

/** Returns the resolved image options: `auto` is decided here. */
function wishOf({ body, form }: Serving): Wish {
  const [, width = square, height = square] = /^(\d+)x(\d+)$/.exec(stringOf(body.size))?.map(Number) ?? []
  const quality = stringOf(body.quality)
  const pictures = listOf(body.images).map((image) => JSON.stringify(image))
  const files = filesOf(form, 'image').map(({ bytes }) => toBase64(bytes))
  return {
    width,
    height,
    quality: outputTokens[quality] === undefined ? 'medium' : quality,
    background: body.background === 'transparent' ? 'transparent' : 'opaque',
    seed: [stringOf(body.prompt), ...[...pictures, ...files].map((text) => hashText(text))].join('\n'),
  }
}

function picture(wish: Wish, index: number, done = 1): string {
  const { width, height, background, seed } = wish
  const text = index === 0 ? seed : `${seed}\n${index}`
  return toBase64(demoPicture(text, { width, height, done, transparent: background === 'transparent' }))
}

function usageOf({ body, form, script }: Serving, { quality, width, height }: Wish, count: number): JsonObject {
  const images = (listOf(body.images).length || filesOf(form, 'image').length) * inputImageTokens
  const text = countTokens(stringOf(body.prompt))
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
const tellingOf = ({ quality, background, width, height }: Wish): JsonObject => ({
  background,
  output_format: 'png',
  quality,
  size: `${width}x${height}`,
})

function bodyOf(serving: Serving): JsonObject {
  const { body, model, now } = serving
  const wish = wishOf(serving)
  const dalle = isDalle(model)
  const count = numberOf(body.n) ?? 1
  const format = stringOf(body.response_format, dalle ? 'url' : 'b64_json')
  const data = Array.from({ length: count }, (_, index): JsonObject => {
    const image = picture(wish, index)
    return {
      // There is no host to fetch it from: the address contains the picture itself.
      ...(format === 'url' ? { url: `data:image/png;base64,${image}` } : { b64_json: image }),
      ...(model === 'dall-e-3' ? { revised_prompt: stringOf(body.prompt) } : {}),
    }
  })
  const created = Math.floor(now() / 1000)
  if (dalle) return { created, data }
  const { background, ...rest } = tellingOf(wish)
  return { created, background: background ?? null, data, ...rest, usage: usageOf(serving, wish, count) }
}

function* eventsOf(serving: Serving, name: string): Generator<Piece> {
  const wish = wishOf(serving)
  const partials = numberOf(serving.body.partial_images) ?? 0
  const created = { created_at: Math.floor(serving.now() / 1000), ...tellingOf(wish) }
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
  (serving: Serving): Rendering => ({ body: () => bodyOf(serving), events: () => eventsOf(serving, name) })

const readForm = ({ form }: RequestBody): JsonObject | undefined => form && fieldsOf(form, types)

const common = {
  voice: chat,
  defaultModel: 'dall-e-2',
  check: checkImages,
  said: ({ body }: { readonly body: JsonObject }) => stringOf(body.prompt),
} as const

/** OpenAI's Images: a pattern for each prompt. */
export const images: Service = {
  ...common,
  operation: 'images',
  takes: ['application/json'],
  read: readJson,
  render: render('image_generation'),
}

export const imageEdits: Service = {
  ...common,
  operation: 'image-edits',
  takes: ['application/json', 'multipart/form-data'],
  read: (content) => readForm(content) ?? readJson(content),
  render: render('image_edit'),
}

export const imageVariations: Service = {
  ...common,
  operation: 'image-variations',
  takes: ['multipart/form-data'],
  read: (content) => readForm(content),
  streams: () => false,
  render: render('image_variation'),
}
