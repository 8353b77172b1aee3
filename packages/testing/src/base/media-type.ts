/** Detects an image type by its first bytes; undefined if providers do not accept it. */
export function detectImageType(
  bytes: Uint8Array,
): 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif' | undefined {
  const starts = (...wanted: number[]): boolean => wanted.every((byte, index) => bytes[index] === byte)
  if (starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png'
  if (starts(0xff, 0xd8, 0xff)) return 'image/jpeg'
  if (starts(0x47, 0x49, 0x46, 0x38)) return 'image/gif'
  return starts(0x52, 0x49, 0x46, 0x46) && bytes[8] === 0x57 && bytes[9] === 0x45 ? 'image/webp' : undefined
}

/** Returns the duration of a WAV file in seconds; undefined for other data. */
export function wavDuration(bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const word = (at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4))
  if (bytes.length < 44 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined
  let perSecond = 0
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = view.getUint32(at + 4, true)
    if (word(at) === 'fmt ' && at + 20 <= bytes.length) perSecond = view.getUint32(at + 16, true)
    // The header of a streamed WAV has no valid length: the actual bytes count.
    if (word(at) === 'data') return perSecond === 0 ? undefined : Math.min(size, bytes.length - at - 8) / perSecond
    at += 8 + size + (size % 2)
  }
  return undefined
}
