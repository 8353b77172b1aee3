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
    if (key === undefined || value === undefined || key.length !== name.length) continue
    if (key.toString('latin1').toLowerCase() !== name) continue
    found = found === undefined ? value.toString('latin1') : `${found}, ${value.toString('latin1')}`
  }
  return found
}
