import { fromBase64, toBase64 } from '../../base/bytes.ts'
import type { AnyFormat, SharedFormat } from '../../base/names.ts'
import type { Sealed } from '../ir.ts'

/**
 * Seals: values that only their issuer can read, such as thought signatures and encrypted reasoning. The client stores them and sends
 * them back in later requests, so that the gateway keeps no state. A prefix names the issuer if the client speaks another format.
 *
 *     upstream (messages)           client (chat)                      next request, to messages
 *     signature: "EqQB…"    ──▶     "mgs1.messages.EqQB…"    ──▶       signature: "EqQB…"
 *                                                                      to any other format: left out, and reported
 *
 * A client that speaks the issuer's format gets the bare value.
 */
export const sealPrefix = 'mgs1.'

/** The prefix in base64, for formats whose seals are bytes, up to the character that depends on the issuer. */
export const sealPrefixBase64 = 'bWdzMS5'

/** Returns the seal as a client of `format` gets it. */
export const writeSeal = (seal: Sealed, format: AnyFormat): string =>
  seal.issuer === format ? seal.data : `${sealPrefix}${seal.issuer}.${seal.data}`

/** Reads a seal that a client of `format` sent. */
export function readSeal(text: string, format: SharedFormat): Sealed {
  if (!text.startsWith(sealPrefix)) return { issuer: format, data: text }
  const dot = text.indexOf('.', sealPrefix.length)
  if (dot < 0) return { issuer: format, data: text }
  return { issuer: text.slice(sealPrefix.length, dot) as SharedFormat, data: text.slice(dot + 1) }
}

/** Returns the seal as base64, for formats whose seals are bytes: their SDKs decode the text at once. An own seal stays unchanged. */
export const writeSealBase64 = (seal: Sealed, format: AnyFormat): string =>
  seal.issuer === format ? seal.data : toBase64(new TextEncoder().encode(writeSeal(seal, format)))

/** Reads a seal that `writeSealBase64` wrote, or the format's own. */
export function readSealBase64(text: string, format: SharedFormat): Sealed {
  const bytes = text.startsWith(sealPrefixBase64) ? fromBase64(text) : undefined
  const written = bytes === undefined ? '' : new TextDecoder().decode(bytes)
  return written.startsWith(sealPrefix) ? readSeal(written, format) : { issuer: format, data: text }
}
