import { encodePng, joined } from '../base/png.ts'
import { createIds, hashText } from '../base/random.ts'

export interface PictureOptions {
  /** In pixels. Default 1024. */
  readonly width?: number
  readonly height?: number
  /** Fraction of the picture to draw, from 0 to 1. Default 1. */
  readonly done?: number
  /** Omits the background. */
  readonly transparent?: boolean
}

/** Cells across and down. The left half is mirrored, because symmetric patterns look better. */
const cells = 8

/** Draws a valid PNG: a pattern derived from the text. */
export function demoPicture(text: string, options: PictureOptions = {}): Uint8Array {
  const { width = 1024, height = 1024, done = 1, transparent = false } = options
  const random = createIds(Number.parseInt(hashText(text).slice(-8), 16))
  const hue = random.integer(360)
  const grid = Array.from({ length: cells }, () => {
    const half = Array.from({ length: cells / 2 }, () => Math.max(0, random.integer(6) - 2))
    return [...half, ...half.toReversed()]
  })
  const drawn = Math.round(cells * done)
  const rows = grid.map((colours, index) => {
    const line = new Uint8Array(width)
    if (index < drawn) for (let x = 0; x < width; x++) line[x] = colours[Math.floor((x * cells) / width)] ?? 0
    return line
  })
  return encodePng({
    width,
    height,
    transparent,
    palette: [rgb(hue, 0.25, 0.95), rgb(hue, 0.7, 0.55), rgb(hue + 40, 0.7, 0.6), rgb(hue + 180, 0.6, 0.4)],
    row: (y) => rows[Math.floor((y * cells) / height)] ?? new Uint8Array(width),
  })
}

function rgb(hue: number, saturation: number, lightness: number): [number, number, number] {
  const part = (shift: number): number => {
    const at = (shift + hue / 30) % 12
    const value =
      lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(at - 3, 9 - at, 1))
    return Math.round(value * 255)
  }
  return [part(0), part(8), part(4)]
}

/** Samples per second of demo speech: 16 bit, mono, little-endian, as the real providers send it. */
export const speechRate = 24_000

export interface SpeechOptions {
  /** Default 1. */
  readonly speed?: number
  /** Determines the pitch. */
  readonly voice?: string
}

/** Seconds of sound per letter, up to a maximum per word. */
const secondsPerLetter = 0.05
const maxLettersPerWord = 10
const loudness = 9000

/** Generates a hum for each word of a text, with pauses between: raw samples, word by word. */
export function* demoSpeech(text: string, { speed = 1, voice = '' }: SpeechOptions = {}): Generator<Uint8Array> {
  const base = 110 + (Number.parseInt(hashText(voice).slice(-4), 16) % 110)
  const words = text.split(/\s+/u).filter((word) => word !== '')
  for (const word of words.length > 0 ? words : ['.']) {
    const pitch = base * 2 ** ((Number.parseInt(hashText(word.toLowerCase()).slice(-4), 16) % 13) / 12)
    const hummed = Math.round((Math.min(word.length, maxLettersPerWord) * secondsPerLetter * speechRate) / speed)
    const rest = Math.round((secondsPerLetter * speechRate) / speed)
    const view = new DataView(new ArrayBuffer((hummed + rest) * 2))
    for (let index = 0; index < hummed; index++) {
      // Fades in and out to avoid clicks.
      const swell = Math.sin((Math.PI * index) / hummed)
      const wave = Math.sin((2 * Math.PI * pitch * index) / speechRate)
      view.setInt16(index * 2, Math.round(loudness * swell * wave), true)
    }
    yield new Uint8Array(view.buffer)
  }
}

/** Returns a WAV file of raw samples. */
export function toWav(samples: readonly Uint8Array[]): Uint8Array {
  return joined([wavHeader(samples.reduce((sum, part) => sum + part.length, 0)), ...samples])
}

/** Returns the WAV header for a number of bytes of samples. */
export function wavHeader(bytes: number): Uint8Array {
  const header = new Uint8Array(44)
  const view = new DataView(header.buffer)
  const word = (at: number, text: string): void => header.set(new TextEncoder().encode(text), at)
  word(0, 'RIFF')
  view.setUint32(4, 36 + bytes, true)
  word(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, speechRate, true)
  view.setUint32(28, speechRate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  word(36, 'data')
  view.setUint32(40, bytes, true)
  return header
}
