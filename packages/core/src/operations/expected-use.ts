import type { Json, JsonObject } from '../base/json/json.ts'
import type { ExpectedUse } from '../config/admission.ts'
import type { BillableUnits } from '../formats/ir.ts'

/** Speech output: 25 audio tokens per second (Gemini TTS) at about 14 characters per second, rounded up. */
const audioTokensPerCharacter = 2

export function expectedSpeech(characters: number): ExpectedUse {
  const output = characters * audioTokensPerCharacter
  return { units: { characters }, input: characters, output, least: { units: { characters }, output: characters } }
}

/**
 * Output tokens of one image by quality, at the largest size. Source: OpenAI's image generation guide (gpt-image models),
 * read in November 2026. Gemini's image models stay below the largest value.
 */
const imageTokens = { low: 408, medium: 1584, high: 6240 } as const
const leastImageTokens = 272
/** Extra output tokens of one partial image of a stream, from the same guide. */
const partialImageTokens = 100
/** Input tokens of one image to edit: high input fidelity adds up to 6,240 tokens. */
const editedImageTokens = { low: 1600, high: 8000 } as const

const isQuality = (value: Json | undefined): value is keyof typeof imageTokens =>
  typeof value === 'string' && Object.hasOwn(imageTokens, value)
const countOf = (value: Json | undefined, otherwise: number): number =>
  typeof value === 'number' && value > 0 ? value : otherwise
const lengthOf = (value: Json | undefined): number =>
  Array.isArray(value) ? value.length : value === undefined ? 0 : 1

/** Expected use of an image request in OpenAI's fields. */
export function expectedImages(request: JsonObject): ExpectedUse {
  const images = countOf(request.n, 1)
  const each = imageTokens[isQuality(request.quality) ? request.quality : 'high']
  const partial = countOf(request.partial_images, 0) * partialImageTokens
  const edited = lengthOf(request.image) + lengthOf(request.images)
  const prompt = typeof request.prompt === 'string' ? request.prompt.length : 0
  return {
    units: { images },
    input: prompt + edited * editedImageTokens[request.input_fidelity === 'high' ? 'high' : 'low'],
    output: images * (each + partial),
    least: { units: { images }, output: images * leastImageTokens },
  }
}

export const expectedImageCount = (units: BillableUnits): ExpectedUse => ({
  units,
  output: (units.images ?? 0) * imageTokens.high,
  least: { units, output: (units.images ?? 0) * leastImageTokens },
})

/** The file's duration is unknown without decoding it: these bit rates bound it (narrow-band speech codecs, stereo PCM at 48 kHz). */
const leastBitsPerSecond = 16_000
const mostBitsPerSecond = 1_536_000
/** Gemini counts 32 tokens per second of audio, OpenAI's transcription models fewer; speech has about 4 text tokens per second. */
const audioTokensPerSecond = 32
const textTokensPerSecond = 4

/** Expected use of an audio upload, by its size in bytes. */
export function expectedAudio(request: JsonObject): ExpectedUse {
  const { file } = request
  const bytes = typeof file === 'object' && file !== null && !Array.isArray(file) ? countOf(file.bytes, 0) : 0
  const seconds = (bytes * 8) / leastBitsPerSecond
  const leastSeconds = (bytes * 8) / mostBitsPerSecond
  return {
    units: { seconds },
    input: Math.ceil(seconds * audioTokensPerSecond),
    output: Math.ceil(seconds * textTokensPerSecond),
    least: { units: { seconds: leastSeconds }, input: Math.ceil(leastSeconds), output: 0 },
  }
}

/** Cohere bills one search per 100 documents; a document counts once per 500 tokens begun. */
const documentsPerSearch = 100
const charactersPerDocument = 2000

/** Expected use of a rerank request. */
export function expectedRerank({ documents, query }: JsonObject): ExpectedUse {
  const list = Array.isArray(documents) ? documents : []
  let pieces = 0
  let characters = 0
  for (const document of list) {
    const length = typeof document === 'string' ? document.length : JSON.stringify(document).length
    characters += length
    pieces += Math.max(1, Math.ceil(length / charactersPerDocument))
  }
  // The query is read again with each document.
  const input = Math.ceil((characters + list.length * (typeof query === 'string' ? query.length : 0)) / 4)
  const searches = Math.ceil(pieces / documentsPerSearch)
  return { units: { searches }, input, output: 0, least: { units: searchesOf({ documents: list }) } }
}

/** Searches that a rerank request is billed at least: an upstream that reports its own number overrides them. */
export const searchesOf = ({ documents }: JsonObject): { readonly searches: number } => ({
  searches: Math.ceil((Array.isArray(documents) ? documents.length : 0) / documentsPerSearch),
})
