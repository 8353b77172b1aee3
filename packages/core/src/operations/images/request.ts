import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Report, Usage } from '../../formats/ir.ts'
import type { Unread } from '../../formats/shared/json-fields.ts'
import { pointer } from '../../formats/shared/pointers.ts'
import { loss } from '../../formats/shared/report.ts'

/** An image that goes with the prompt. */
export type ImageInput = { readonly at: string } & (
  | { readonly mediaType: string; readonly data: string }
  | { readonly url: string }
  /** Kept by the provider that the client thinks of. */
  | { readonly fileId: string }
)

export interface ImagesRequest {
  readonly prompt: string
  /** To be edited; empty where an image is to be made anew. */
  readonly images: readonly ImageInput[]
  readonly mask?: ImageInput
  /** All other fields, as the client wrote them. Encoders take what they can say and report the rest. */
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

/** Settings that say the same as leaving them out. */
const plain: { readonly [key: string]: ReadonlySet<Json> } = {
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

/** What becomes of the rest. */
const details: { readonly [key: string]: string } = {
  partial_images: 'the image comes in one piece',
  response_format: 'the answer holds the image itself, not an address',
}
const notes: ReadonlySet<string> = new Set(['partial_images', 'user'])

/** Reports the settings that an encoder did not take. */
export function reportUnsupportedSettings(settings: Unread, report: Report): void {
  for (const [key, value] of Object.entries(settings)) {
    if (value == null || (Object.hasOwn(plain, key) && plain[key]?.has(value))) continue
    const detail = Object.hasOwn(details, key) ? details[key] : undefined
    report.add(
      loss(
        pointer('', key),
        detail ?? `${key} has no counterpart in the upstream's dialect`,
        'unsupported',
        notes.has(key) ? 'note' : 'warn',
      ),
    )
  }
}

/** The nearest of an upstream's aspect ratios to a size in pixels (`1536x1024`), reported; undefined for a size it may choose. */
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
  const detail = `the upstream takes an aspect ratio, not a size in pixels: ${best}`
  report.add(loss('/size', detail, 'approximated', exact ? 'note' : 'warn'))
  return best
}

/** `data:image/png;base64,…`; undefined for any other address. */
function readDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  if (!url.startsWith('data:')) return undefined
  const comma = url.indexOf(',')
  const head = url.slice(5, comma)
  if (comma < 0 || !head.endsWith(';base64')) return undefined
  return { mediaType: head.split(';', 1)[0] || 'image/png', data: url.slice(comma + 1) }
}

/** An image as a JSON body writes it (`image_url`, `file_id`), or as an upload's file with its bytes. */
export function decodeImage(value: Json, at: string): ImageInput | undefined {
  if (typeof value === 'string') return { at, ...(readDataUrl(value) ?? { url: value }) }
  if (!isObject(value)) return undefined
  const { data, media_type: type, image_url: address, url, file_id: fileId } = value
  if (typeof data === 'string') return { at, data, mediaType: typeof type === 'string' ? type : 'image/png' }
  const written = isObject(address) ? address.url : (address ?? url)
  if (typeof written === 'string') return { at, ...(readDataUrl(written) ?? { url: written }) }
  return typeof fileId === 'string' ? { at, fileId } : undefined
}
