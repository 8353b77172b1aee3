/** The parts as one array; a single part is returned as it is. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  if (first !== undefined && parts.length === 1) return first
  let size = 0
  for (const part of parts) size += part.length
  const all = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
