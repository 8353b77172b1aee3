import type { Json } from '../../base/json/json.ts'
import type { MediaPart, Part } from '../ir.ts'

/** The first characters of a file in base64, and its media type. Ollama's clients send files without a type. */
const signatures: readonly (readonly [start: RegExp, mediaType: string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  // RIFF, four bytes of length, and the kind of the file.
  [/^UklGR.{6}XRUJQ/, 'image/webp'],
  [/^UklGR.{6}XQVZF/, 'audio/wav'],
  [/^Qk[0-3]/, 'image/bmp'],
]

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+);base64,/

/** Decodes an entry of `images`: base64, as bytes or as a data URL. Models that hear get audio in the same list. */
export function decodeImage(value: Json, at: string): Part | undefined {
  if (typeof value !== 'string') return undefined
  const [prefix, stated] = dataUrl.exec(value.slice(0, 100)) ?? []
  const data = prefix === undefined ? value : value.slice(prefix.length)
  const mediaType = stated ?? mediaTypeOf(data)
  const kind = mediaType?.startsWith('audio/') === true ? 'audio' : 'image'
  const part: MediaPart = { type: 'media', kind, source: { type: 'base64', data }, at }
  return mediaType === undefined ? part : { ...part, mediaType }
}

const mediaTypeOf = (data: string): string | undefined => {
  const start = data.slice(0, 16)
  return signatures.find(([pattern]) => pattern.test(start))?.[1]
}
