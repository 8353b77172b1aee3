import { pick, type Step } from './json-mutations.ts'

const encoder = new TextEncoder()

/** Bytes that are special in UTF-8, lines or JSON. */
const awkward: readonly Uint8Array[] = [
  ...[[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80], [0x00], [0x0a], [0x0d]],
  ...[
    [0x0d, 0x0a],
    [0x0a, 0x0a],
    [0xef, 0xbb, 0xbf],
    [0x22],
    [0x5c],
    [0x7b],
    [0x7d],
    [0x5d],
    [0x2c],
    [0x3a],
    [0x20],
    [0x7f],
  ],
].map((bytes) => Uint8Array.from(bytes))

const joined = (...parts: readonly Uint8Array[]): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Returns a repeatable sequence of bytes. */
function noise(length: number, seed: number): Uint8Array {
  let state = seed + 1
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  })
}

const changes: readonly ((bytes: Uint8Array, at: number, how: number) => Uint8Array)[] = [
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at) => bytes.subarray(at),
  (bytes, at, how) => joined(bytes.subarray(0, at), pick(awkward, how), bytes.subarray(at)),
  (bytes, at, how) => joined(bytes.subarray(0, at), pick(awkward, how), bytes.subarray(at)),
  (bytes, at, how) => joined(bytes.subarray(0, at), bytes.subarray(at + (how % 40))),
  (bytes, at, how) => joined(bytes.subarray(0, at + (how % 200)), bytes.subarray(at)),
  (bytes, at, how) => {
    const copy = bytes.slice()
    if (at < copy.length) copy[at] = (copy[at] as number) ^ (1 << (how % 8))
    return copy
  },
  (bytes, at, how) => joined(bytes.subarray(0, at), noise(how % 60, how), bytes.subarray(at)),
  (bytes, _, how) => joined(pick(awkward, how), bytes),
  (bytes, _, how) => joined(bytes, pick(awkward, how)),
  (_, at, how) => noise(at % 300, how),
]

/** Returns the bytes after these mutations. */
export function mutateBytes(whole: string | Uint8Array, steps: readonly Step[]): Uint8Array {
  let bytes = typeof whole === 'string' ? encoder.encode(whole) : whole
  for (const [what, where, how] of steps) bytes = pick(changes, what)(bytes, where % (bytes.length + 1), how)
  return bytes
}
