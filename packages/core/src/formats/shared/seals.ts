import type { Format } from '../../base/names.ts'
import type { Sealed } from '../ir.ts'

/**
 * A seal travels through a foreign dialect as `mgs1.<issuer>.<data>`: stateless, and recognisable when the client sends
 * it back, so that it reaches its issuer again and nobody else. In the issuer's own dialect it travels bare.
 */
export const sealPrefix = 'mgs1.'

/** The same in base64, for dialects whose seals are bytes: what does not depend on the issuer's first letter. */
export const sealPrefixBase64 = 'bWdzMS5'

/**
 * True if the text of a body can hold a foreign seal: then the bytes must not go upstream as they are. Looked for first by
 * the ends of the prefixes, which begin with letters that are rare in texts: that takes a tenth of the time.
 */
export const hasSealPrefix = (text: string): boolean =>
  (text.includes(sealPrefix.slice(-2)) && text.includes(`"${sealPrefix}`)) ||
  (text.includes(sealPrefixBase64.slice(-4)) && text.includes(`"${sealPrefixBase64}`))

/** The text that stands for a seal in `format`'s dialect. */
export const writeSeal = (seal: Sealed, format: Format): string =>
  seal.issuer === format ? seal.data : `${sealPrefix}${seal.issuer}.${seal.data}`

/** The seal that a text in `format`'s dialect stands for. */
export function readSeal(text: string, format: Format): Sealed {
  if (!text.startsWith(sealPrefix)) return { issuer: format, data: text }
  const dot = text.indexOf('.', sealPrefix.length)
  if (dot < 0) return { issuer: format, data: text }
  return { issuer: text.slice(sealPrefix.length, dot) as Format, data: text.slice(dot + 1) }
}
