/** Returns the cosine of the angle between two vectors: 1 for the same direction, 0 for unrelated ones. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let product = 0
  let lengthA = 0
  let lengthB = 0
  for (let at = 0; at < a.length; at++) {
    const x = a[at] ?? 0
    const y = b[at] ?? 0
    product += x * y
    lengthA += x * x
    lengthB += y * y
  }
  return lengthA === 0 || lengthB === 0 ? 0 : product / Math.sqrt(lengthA * lengthB)
}

export interface Pair {
  /** Indexes of the texts. */
  readonly first: number
  readonly second: number
  /** Undefined: the vectors have different sizes. */
  readonly similarity: number | undefined
}

/** Compares each vector with each other, the most similar first. */
export function pairsOf(vectors: readonly ArrayLike<number>[]): readonly Pair[] {
  const pairs = vectors.flatMap((a, first) =>
    vectors.slice(first + 1).map((b, at) => ({
      first,
      second: first + 1 + at,
      similarity: a.length === b.length ? cosine(a, b) : undefined,
    })),
  )
  return pairs.sort((one, other) => (other.similarity ?? -2) - (one.similarity ?? -2))
}
