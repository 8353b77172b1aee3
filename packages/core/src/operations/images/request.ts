import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { Report, Usage } from '../../formats/ir.ts'
import type { Unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'

/** An image in a request; `at` is its position in the body. */
export type ImageInput = { readonly at: string } & (
  | { readonly mediaType: string; readonly data: string }
  | { readonly url: string }
  /** Stored by the client's provider. */
  | { readonly fileId: string }
)

export interface ImagesRequest {
  readonly prompt: string
  /** Images to edit. Empty for generation. */
  readonly images: readonly ImageInput[]
  readonly mask?: ImageInput
  /** All other fields, as the client wrote them. Encoders read those that they support and report the others. */
  readonly settings: JsonObject
}

export interface GeneratedImage {
  readonly data: string
  readonly mediaType: string
  readonly revisedPrompt?: string
}
export interface ImagesResponse {
  readonly images: readonly GeneratedImage[]
  readonly usage?: Usage
}

/** Values that mean the same as an absent setting. */
const defaults: { readonly [key: string]: ReadonlySet<Json> } = {
  background: new Set(['auto', 'opaque']),
  input_fidelity: new Set(['low']),
  moderation: new Set(['auto']),
  n: new Set([1]),
  output_compression: new Set([100]),
  partial_images: new Set([0]),
  quality: new Set(['auto', 'standard']),
  response_format: new Set(['b64_json']),
  size: new Set(['auto']),
}

/** Reports for settings with an explanation of their own. */
const details: { readonly [key: string]: string } = {
  partial_images: 'the image is sent in one piece',
  response_format: 'the response contains the image as data, not as a URL',
}
const notes: ReadonlySet<string> = new Set(['partial_images', 'user'])

/** Reports the settings that an encoder did not read. */
export function reportUnsupportedSettings(settings: Unread, report: Report): void {
  for (const [key, value] of Object.entries(settings)) {
    if (value == null || (Object.hasOwn(defaults, key) && defaults[key]?.has(value))) continue
    const detail = Object.hasOwn(details, key) ? details[key] : undefined
    report.add(
      loss(
        pointer('', key),
        detail ?? `${key} has no counterpart in the API format of the upstream`,
        'unsupported',
        notes.has(key) ? 'note' : 'warn',
      ),
    )
  }
}

/**
 * Returns the nearest of an upstream's aspect ratios for a size in pixels (`1536x1024`), and reports the approximation. Returns undefined
 * if the upstream may choose the size.
 */
export function takeAspectRatio(settings: Unread, ratios: readonly string[], report: Report): string | undefined {
  const { size } = settings
  if (typeof size !== 'string') return undefined
  if (ratios.includes(size)) {
    delete settings.size
    return size
  }
  const [width, height] = size.split(/[x:]/).map(Number)
  if (width === undefined || height === undefined || !(width > 0 && height > 0)) return undefined
  delete settings.size
  const wanted = Math.log(width / height)
  const distance = (ratio: string): number => {
    const [across = 1, down = 1] = ratio.split(':').map(Number)
    return Math.abs(Math.log(across / down) - wanted)
  }
  const best = ratios.reduce((nearest, ratio) => (distance(ratio) < distance(nearest) ? ratio : nearest))
  const exact = distance(best) < 0.001
  const detail = `the upstream accepts an aspect ratio, not a size in pixels; ${best} is sent`
  report.add(loss('/size', detail, 'approximated', exact ? 'note' : 'warn'))
  return best
}

/** Decodes `data:image/png;base64,…`. Returns undefined for any other URL. */
function decodeDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  if (!url.startsWith('data:')) return undefined
  const comma = url.indexOf(',')
  const head = url.slice(5, comma)
  if (comma < 0 || !head.endsWith(';base64')) return undefined
  return { mediaType: head.split(';', 1)[0] || 'image/png', data: url.slice(comma + 1) }
}

/** Decodes an image of a JSON body (`image_url`, `file_id`) or of an upload with its bytes. */
export function decodeImage(value: Json, at: string): ImageInput | undefined {
  if (typeof value === 'string') return { at, ...(decodeDataUrl(value) ?? { url: value }) }
  if (!isObject(value)) return undefined
  const { data, media_type: type, image_url: address, url, file_id: fileId } = value
  if (typeof data === 'string') return { at, data, mediaType: typeof type === 'string' ? type : 'image/png' }
  const written = isObject(address) ? address.url : (address ?? url)
  if (typeof written === 'string') return { at, ...(decodeDataUrl(written) ?? { url: written }) }
  return typeof fileId === 'string' ? { at, fileId } : undefined
}
