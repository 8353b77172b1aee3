/** A picture of at most 256 colours. */
export interface IndexedImage {
  readonly width: number
  readonly height: number
  /** Three bytes per colour. */
  readonly palette: readonly (readonly [red: number, green: number, blue: number])[]
  /** True if the first colour is transparent. */
  readonly transparent: boolean
  /** Returns the colours of a row, left to right. */
  readonly row: (y: number) => Uint8Array
}

/** Writes a PNG without a library: each row as its difference to the one above, with runs of a byte compressed. */
export function encodePng({ width, height, palette, transparent, row }: IndexedImage): Uint8Array {
  const header = new Uint8Array(13)
  const view = new DataView(header.buffer)
  view.setUint32(0, width)
  view.setUint32(4, height)
  // Eight bits per pixel, indexed colours.
  header.set([8, 3, 0, 0, 0], 8)
  const filtered = new Uint8Array((width + 1) * height)
  let above = new Uint8Array(width)
  for (let y = 0; y < height; y++) {
    const own = row(y)
    const at = y * (width + 1)
    // Filter 2: the difference to the pixel above.
    filtered[at] = 2
    for (let x = 0; x < width; x++) filtered[at + 1 + x] = (own[x] ?? 0) - (above[x] ?? 0)
    above = own.slice()
  }
  return joined([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk('IHDR', header),
    chunk('PLTE', Uint8Array.from(palette.flat())),
    ...(transparent ? [chunk('tRNS', Uint8Array.of(0))] : []),
    chunk('IDAT', zlib(filtered)),
    chunk('IEND', new Uint8Array()),
  ])
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const body = joined([new TextEncoder().encode(name), data])
  const all = new Uint8Array(body.length + 8)
  const view = new DataView(all.buffer)
  view.setUint32(0, data.length)
  all.set(body, 4)
  view.setUint32(body.length + 4, crc(body))
  return all
}

function crc(bytes: Uint8Array): number {
  let rest = 0xffffffff
  for (const byte of bytes) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0)
  }
  return ~rest >>> 0
}

function adler(bytes: Uint8Array): number {
  let low = 1
  let high = 0
  for (const byte of bytes) {
    low = (low + byte) % 65_521
    high = (high + low) % 65_521
  }
  return high * 65_536 + low
}

/** Run lengths as deflate groups them: the minimum of each group, and its number of extra bits. */
const runBases = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
]
const runBits = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
const shortestRun = 3
const longestRun = 258

/** Returns a zlib stream of one block with the fixed codes; it only finds repeats of the previous byte. */
function zlib(bytes: Uint8Array): Uint8Array {
  // At most nine bits per byte.
  const out = new Uint8Array(16 + Math.ceil((bytes.length * 9) / 8))
  let at = 0
  let held = 0
  let count = 0
  const put = (value: number, bits: number): void => {
    held |= value << count
    count += bits
    for (; count >= 8; count -= 8) {
      out[at++] = held & 0xff
      held >>>= 8
    }
  }
  const code = (symbol: number): void => {
    if (symbol < 144) put(reversed(0x30 + symbol, 8), 8)
    else if (symbol < 256) put(reversed(0x190 + symbol - 144, 9), 9)
    else if (symbol < 280) put(reversed(symbol - 256, 7), 7)
    else put(reversed(0xc0 + symbol - 280, 8), 8)
  }
  out.set([0x78, 0x01])
  at = 2
  // The last block, with fixed codes.
  put(3, 3)
  for (let index = 0; index < bytes.length; ) {
    const byte = bytes[index] ?? 0
    code(byte)
    index++
    let run = 0
    while (run < longestRun && bytes[index + run] === byte) run++
    if (run < shortestRun) continue
    const group = runBases.findLastIndex((base) => base <= run)
    code(257 + group)
    put(run - (runBases[group] ?? 0), runBits[group] ?? 0)
    // A distance of one.
    put(0, 5)
    index += run
  }
  code(256)
  if (count > 0) put(0, 8 - count)
  const all = out.slice(0, at + 4)
  new DataView(all.buffer).setUint32(at, adler(bytes))
  return all
}

/** Reverses a code: codes are written from their highest bit, all else from the lowest. */
function reversed(code: number, bits: number): number {
  let result = 0
  for (let bit = 0; bit < bits; bit++) result |= ((code >> bit) & 1) << (bits - 1 - bit)
  return result
}
