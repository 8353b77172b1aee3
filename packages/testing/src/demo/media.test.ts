import { inflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { detectImageType, wavDuration } from '../base/media-type.ts'
import { demoPicture, demoSpeech, speechRate, toWav } from './media.ts'

interface Decoded {
  readonly chunks: readonly string[]
  readonly width: number
  readonly height: number
  /** Color indexes, row by row. */
  readonly pixels: readonly Uint8Array[]
}

/** Decodes a PNG and checks its lengths, checksums, zlib data and filters. */
function decode(png: Uint8Array): Decoded {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength)
  const chunks: string[] = []
  let data = Buffer.alloc(0)
  for (let at = 8; at < png.length; ) {
    const size = view.getUint32(at)
    const body = png.subarray(at + 4, at + 8 + size)
    const name = Buffer.from(body.subarray(0, 4)).toString('latin1')
    expect([name, view.getUint32(at + 8 + size)]).toEqual([name, crc32(body)])
    chunks.push(name)
    if (name === 'IDAT') data = Buffer.concat([data, body.subarray(4)])
    at += 12 + size
  }
  const width = view.getUint32(16)
  const height = view.getUint32(20)
  const raw = inflateSync(data)
  expect(raw.length).toBe((width + 1) * height)
  const pixels: Uint8Array[] = []
  for (let y = 0; y < height; y++) {
    const line = raw.subarray(y * (width + 1), (y + 1) * (width + 1))
    expect(line[0]).toBe(2)
    const above = pixels.at(-1)
    pixels.push(Uint8Array.from(line.subarray(1), (value, x) => value + (above?.[x] ?? 0)))
  }
  return { chunks, width, height, pixels }
}

function crc32(bytes: Uint8Array): number {
  const table = Array.from({ length: 256 }, (_, value) => {
    let rest = value
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1
    return rest >>> 0
  })
  let rest = 0xffffffff
  for (const byte of bytes) rest = (table[(rest ^ byte) & 255] ?? 0) ^ (rest >>> 8)
  return (rest ^ 0xffffffff) >>> 0
}

describe('demo images', () => {
  it.each([
    [1024, 1024],
    [1536, 1024],
    [256, 256],
    [17, 3],
    [1, 1],
  ])('of %i by %i pixels can be decoded', (width, height) => {
    const png = demoPicture('a cat', { width, height })
    expect(detectImageType(png)).toBe('image/png')
    const { chunks, pixels, ...size } = decode(png)
    expect(size).toEqual({ width, height })
    expect(chunks).toEqual(['IHDR', 'PLTE', 'IDAT', 'IEND'])
    expect(pixels.every((line) => line.every((colour) => colour < 4))).toBe(true)
  })

  it('are small, different for each text, and the same for the same text', () => {
    expect(demoPicture('a cat').length).toBeLessThan(30_000)
    expect(demoPicture('a cat')).toEqual(demoPicture('a cat'))
    expect(demoPicture('a cat')).not.toEqual(demoPicture('a dog'))
  })

  it('are drawn from the top, and transparent on request', () => {
    const half = decode(demoPicture('a cat', { width: 64, height: 64, done: 0.5, transparent: true }))
    const whole = decode(demoPicture('a cat', { width: 64, height: 64 }))
    expect(half.chunks).toContain('tRNS')
    expect(half.pixels.slice(0, 32)).toEqual(whole.pixels.slice(0, 32))
    expect(half.pixels.slice(32).every((line) => line.every((colour) => colour === 0))).toBe(true)
    expect(whole.pixels.slice(32).some((line) => line.some((colour) => colour > 0))).toBe(true)
  })
})

describe('demo speech', () => {
  it('is a WAV as long as its words, within the volume limit', () => {
    const samples = [...demoSpeech('one two three')]
    expect(samples).toHaveLength(3)
    const wav = toWav(samples)
    const seconds = samples.reduce((sum, part) => sum + part.length, 0) / 2 / speechRate
    expect(wavDuration(wav)).toBeCloseTo(seconds, 5)
    expect(seconds).toBeGreaterThan(0.5)
    const values = new Int16Array(wav.slice(44).buffer)
    expect(Math.max(...values.map(Math.abs))).toBeGreaterThan(5000)
  })

  it('is faster on request, pitched by its voice, and never empty', () => {
    const bytes = (text: string, options = {}): number =>
      [...demoSpeech(text, options)].reduce((sum, part) => sum + part.length, 0)
    expect(bytes('hello there', { speed: 2 })).toBe(bytes('hello there') / 2)
    expect([...demoSpeech('a', { voice: 'ash' })]).not.toEqual([...demoSpeech('a', { voice: 'echo' })])
    expect(bytes(' ')).toBeGreaterThan(0)
  })
})

describe('duration of a WAV file', () => {
  const wav = toWav([new Uint8Array(48_000)])
  it('is computed from the samples if the header has no valid length', () => {
    const open = wav.slice()
    new DataView(open.buffer).setUint32(40, 0xffffffff, true)
    expect(wavDuration(open)).toBe(1)
  })
  it.each([
    ['an empty file', new Uint8Array()],
    ['a file that is not a WAV', new TextEncoder().encode('ID3'.padEnd(100))],
    ['a WAV without samples', wav.slice(0, 36)],
  ])('is unknown for %s', (_name, bytes) => {
    expect(wavDuration(bytes)).toBeUndefined()
  })
})
