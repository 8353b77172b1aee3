/**
 * A header's value in undici's raw list (name, value, name, value, …), repeated ones joined with `, `. Searching for the
 * two or three names that are wanted is cheaper than turning twenty headers into an object.
 *
 * @param name in lower case
 */
export function findHeader(rawHeaders: readonly Buffer[], name: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const key = rawHeaders[i]
    const value = rawHeaders[i + 1]
    if (key === undefined || value === undefined || key.length !== name.length || !isNamed(key, name)) continue
    found = found === undefined ? value.toString('latin1') : `${found}, ${value.toString('latin1')}`
  }
  return found
}

/** Byte by byte: turning each name of the same length into a string would cost more. */
function isNamed(key: Buffer, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const byte = key[i] as number
    if ((byte >= 65 && byte <= 90 ? byte | 32 : byte) !== name.charCodeAt(i)) return false
  }
  return true
}
