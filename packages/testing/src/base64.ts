/** Bytes at a time: a call takes only so many arguments. */
const step = 0x8000

export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let from = 0; from < bytes.length; from += step)
    binary += String.fromCharCode(...bytes.subarray(from, from + step))
  return btoa(binary)
}

/** The bytes of base64 text; undefined if it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
