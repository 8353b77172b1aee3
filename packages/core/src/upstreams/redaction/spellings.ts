import { toBase64 } from '../../base/bytes.ts'

const encoder = new TextEncoder()

/**
 * The ways in which software writes a secret down: as it is, URL-encoded once or twice, in hexadecimal digits, in base64. JSON's
 * escapes are not among them: texts are unescaped before they are searched.
 */
export function spellingsOf(secret: string): Set<string> {
  const once = urlEncoded(secret)
  const twice = urlEncoded(once)
  const hex = hexOf(encoder.encode(secret))
  const all = new Set([secret, once, lowerEscapes(once), twice, lowerEscapes(twice), hex, hex.toUpperCase()])
  // The digits depend on how many bytes stand before the secret (three cases), and the outer ones on its neighbours.
  for (const before of ['', 'a', 'aa']) {
    const text = toBase64(encoder.encode(before + secret)).replace(/={1,2}$/, '')
    const digits = before === '' ? [text, text.slice(0, -2)] : [text.slice(4, -2)]
    for (const own of digits) all.add(own).add(own.replaceAll('+', '-').replaceAll('/', '_'))
  }
  all.delete('')
  return all
}

/** A lone surrogate cannot be URL-encoded. */
function urlEncoded(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}

const lowerEscapes = (text: string): string => text.replace(/%(?:25)*[0-9A-F]{2}/g, (code) => code.toLowerCase())

function hexOf(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return hex
}
