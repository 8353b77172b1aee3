const headerBytes = 44

/** Wraps samples (signed, 16 bits, one channel, little-endian) in a WAV file. */
export function toWav(samples: Uint8Array, rate: number): Uint8Array {
  const file = new Uint8Array(headerBytes + samples.length)
  const view = new DataView(file.buffer)
  const word = (at: number, text: string): void => {
    for (let index = 0; index < text.length; index++) file[at + index] = text.charCodeAt(index)
  }
  word(0, 'RIFF')
  view.setUint32(4, headerBytes - 8 + samples.length, true)
  word(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  word(36, 'data')
  view.setUint32(40, samples.length, true)
  file.set(samples, headerBytes)
  return file
}

/** Returns the samples in such a WAV file and their rate, or undefined for any other file. */
export function fromWav(file: Uint8Array): { readonly samples: Uint8Array; readonly rate: number } | undefined {
  const view = new DataView(file.buffer, file.byteOffset, file.length)
  const word = (at: number): string => String.fromCharCode(...file.subarray(at, at + 4))
  if (file.length < 12 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined
  let rate: number | undefined
  for (let at = 12; at + 8 <= file.length; ) {
    const size = view.getUint32(at + 4, true)
    const body = at + 8
    if (word(at) === 'fmt ' && body + 16 <= file.length) {
      const plain = view.getUint16(body, true) === 1 && view.getUint16(body + 14, true) === 16
      if (!plain || view.getUint16(body + 2, true) !== 1) return undefined
      rate = view.getUint32(body + 4, true)
    }
    if (word(at) === 'data' && rate !== undefined) return { samples: file.subarray(body, body + size), rate }
    at = body + size + (size % 2)
  }
  return undefined
}
