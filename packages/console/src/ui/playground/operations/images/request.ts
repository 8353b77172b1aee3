import type { Exchange, JsonObject } from '../../formats/format.ts'
import { listOf, textOf } from '../../formats/read.ts'
import type { AsCode, Snippet } from '../../inspect/as-code.ts'
import { numberOf } from '../../settings/draft.ts'
import { answerOf, eventsOf } from '../answer.ts'
import { createApi } from '../apis.ts'
import { openAiSnippets } from '../code/openai.ts'
import type { OperationCalls, OperationDraft, ReadDraft } from '../operation.ts'

export interface ImagesDraft extends OperationDraft {
  readonly prompt: string
  readonly size: string
  readonly count: string
  readonly quality: string
  readonly background: string
  readonly outputFormat: string
  readonly responseFormat: string
  readonly stream: boolean
}

const firstDraft: ImagesDraft = {
  model: '',
  extra: '',
  prompt: '',
  size: '',
  count: '',
  quality: '',
  background: '',
  outputFormat: '',
  responseFormat: '',
  stream: false,
}

/** Images of a stream that show the progress of a final one. */
const partialImages = 2

const lastEvents = { generated: 'image_generation.completed', edited: 'image_edit.completed' } as const

const generationsApi = createApi({
  id: 'images',
  name: 'Images',
  isAnswer: ({ data }) => Array.isArray(data),
  lastEvent: lastEvents.generated,
})

const editsApi = createApi({
  id: 'image-edits',
  name: 'Image edits',
  isAnswer: ({ data }) => Array.isArray(data),
  lastEvent: lastEvents.edited,
})

/** Images in the input are edited. */
function read(draft: ImagesDraft, images: readonly File[]): ReadDraft {
  const { prompt, size, quality, background, outputFormat, responseFormat, stream } = draft
  const count = numberOf(draft.count)
  const isWrong = count === 'wrong' || (count !== undefined && !(Number.isInteger(count) && count > 0))
  const set = (name: string, value: string): JsonObject => (value.trim() === '' ? {} : { [name]: value.trim() })
  return {
    path: images.length === 0 ? '/v1/images/generations' : '/v1/images/edits',
    body: {
      prompt: prompt.trim(),
      ...(count === undefined || isWrong ? {} : { n: count }),
      ...set('size', size),
      ...set('quality', quality),
      ...set('background', background),
      ...set('output_format', outputFormat),
      ...set('response_format', responseFormat),
      ...(stream ? { stream: true, partial_images: partialImages } : {}),
    },
    ...(images.length === 0
      ? {}
      : { files: images.map((file) => ({ field: images.length === 1 ? 'image' : 'image[]', file })) }),
    wrongs: isWrong ? { count: 'Enter a whole number greater than 0.' } : {},
    missing: prompt.trim() === '' ? 'Enter a prompt.' : undefined,
  }
}

/** An image of a response: its content, or its address at the provider. */
export interface ShownImage {
  /** Base64; empty if there is only an address. */
  readonly data: string
  readonly url: string
  /** `image/png` */
  readonly type: string
  /** The prompt as the model changed it. */
  readonly revisedPrompt: string
  /** True: a stream has sent only a part of it so far. */
  readonly isPartial: boolean
}

const dataUrl = /^data:(image\/[\w.+-]+);base64,(.*)$/s

/** Returns the images of a response, or those that a stream has sent so far. */
export function imagesOf(exchange: Exchange): readonly ShownImage[] {
  const body = answerOf(exchange)
  if (body !== undefined) return listOf(body.data).map((image) => shown(image, textOf(body.output_format), false))
  const completed: ShownImage[] = []
  let partial: ShownImage | undefined
  for (const event of eventsOf(exchange)) {
    const isLast = textOf(event.type) === lastEvents.generated || textOf(event.type) === lastEvents.edited
    if (textOf(event.b64_json) === '') continue
    const image = shown(event, textOf(event.output_format), !isLast)
    if (isLast) completed.push(image)
    partial = isLast ? undefined : image
  }
  return partial === undefined ? completed : [...completed, partial]
}

function shown(image: JsonObject, format: string, isPartial: boolean): ShownImage {
  const url = textOf(image.url)
  const [, type, data] = dataUrl.exec(url) ?? []
  const base64 = textOf(image.b64_json) || (data ?? '')
  return {
    data: base64,
    url: base64 === '' ? url : '',
    type: type ?? typeOf(base64) ?? `image/${format || 'png'}`,
    revisedPrompt: textOf(image.revised_prompt),
    isPartial,
  }
}

/** Starts of files in base64: a model may return another type than the requested one. */
const starts = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
] as const

const typeOf = (base64: string): string | undefined => starts.find(([start]) => base64.startsWith(start))?.[1]

const known = [
  ...['model', 'prompt', 'n', 'size', 'quality', 'background', 'output_format', 'output_compression'],
  ...['response_format', 'stream', 'partial_images', 'moderation', 'style', 'user', 'input_fidelity'],
]

function snippets(call: AsCode): readonly Snippet[] {
  const { stream, output_format: format } = call.request.body
  const ending = textOf(format) || 'png'
  return openAiSnippets(call, {
    method: call.request.files === undefined ? 'images.generate' : 'images.edit',
    known,
    javascript:
      stream === true
        ? `for await (const event of stream) {
  console.log(event.type)
  if (event.type.endsWith('.completed')) writeFileSync('image.${ending}', Buffer.from(event.b64_json, 'base64'))
}`
        : `for (const [index, image] of response.data.entries()) {
  if (image.b64_json === undefined) console.log(image.url)
  else writeFileSync(\`image-\${index + 1}.${ending}\`, Buffer.from(image.b64_json, 'base64'))
}`,
    python:
      stream === true
        ? `for event in stream:
    print(event.type)
    if event.type.endswith(".completed"):
        open("image.${ending}", "wb").write(base64.b64decode(event.b64_json))`
        : `for index, image in enumerate(response.data):
    if image.b64_json is None:
        print(image.url)
    else:
        open(f"image-{index + 1}.${ending}", "wb").write(base64.b64decode(image.b64_json))`,
  })
}

export const imagesCalls: OperationCalls<ImagesDraft> = {
  firstDraft,
  apis: [generationsApi, editsApi],
  api: (_draft, files) => (files.length === 0 ? generationsApi : editsApi),
  read,
  snippets,
}
