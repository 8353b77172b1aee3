/** Default number of dimensions. */
export const demoDimensions = 256

const word = /[\p{L}\p{N}]+/gu
/** Stop words, which carry no meaning. */
const stopWords = new Set(
  'a an and are as at be but by for from has have how i in is it its of on or that the this to was what when where which who why will with you'.split(
    ' ',
  ),
)
/** Whole words weigh more than shared word parts. */
const wordWeight = 1
const stopWordWeight = 0.1
const pieceWeight = 0.35
const pieceLength = 3

/**
 * Computes a vector for a text without a model: texts that share words or parts of words are near each other. Deterministic and
 * of length 1; for tests and demonstrations only.
 *
 * @param dimensions at least 1
 */
export function demoEmbedding(text: string, dimensions = demoDimensions): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  for (const [feature, weight] of textFeatures(text)) {
    const hash = hashOf(feature)
    // The sign separates features that hash to one position.
    vector[hash % dimensions] = (vector[hash % dimensions] ?? 0) + (hash & 0x40000000 ? weight : -weight)
  }
  const length = vectorLength(vector)
  // A text without words gets a direction of its own.
  if (length === 0) return vector.map((_, index) => (index === hashOf(text) % dimensions ? 1 : 0))
  return vector.map((value) => Math.fround(value / length))
}

/** Returns the cosine of the angle between two vectors of equal dimensions: 1 for the same direction. */
export function similarity(a: readonly number[], b: readonly number[]): number {
  let product = 0
  for (const [index, value] of a.entries()) product += value * (b[index] ?? 0)
  const lengths = vectorLength(a) * vectorLength(b)
  return lengths === 0 ? 0 : product / lengths
}

const vectorLength = (vector: readonly number[]): number =>
  Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))

export interface DemoRank {
  /** Index of the document. */
  readonly index: number
  /** From 0 to 1. */
  readonly score: number
}

/** Ranks documents by what they share with the query, best first. */
export function demoRerank(query: string, documents: readonly string[]): DemoRank[] {
  const queryVector = demoEmbedding(query, rerankDimensions)
  return documents
    .map((text, index) => {
      const near = similarity(queryVector, demoEmbedding(text, rerankDimensions))
      return { index, score: Math.round(Math.max(0, near) * 1e6) / 1e6 }
    })
    .sort((a, b) => b.score - a.score || a.index - b.index)
}

/** Wide enough to make collisions of words rare. */
const rerankDimensions = 2048

function* textFeatures(text: string): Generator<readonly [feature: string, weight: number]> {
  for (const [token] of text.toLowerCase().matchAll(word)) {
    if (stopWords.has(token)) {
      yield [token, stopWordWeight]
      continue
    }
    yield [token, wordWeight]
    const framed = `<${token}>`
    for (let at = 0; at + pieceLength <= framed.length; at++)
      yield [`#${framed.slice(at, at + pieceLength)}`, pieceWeight]
  }
}

/** FNV-1a with its bits mixed once more: similar words must not get adjacent positions. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
