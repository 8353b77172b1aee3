/** Returns the edit distance of two words: characters to replace, insert, delete or swap with the next. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + cost,
          swapped ? at(i - 2, j - 2) + 1 : Infinity,
        ),
      )
    }
  }
  return at(a.length, b.length)
}

/** Returns the most similar word; undefined if none is similar. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const most = Math.max(1, Math.floor(word.length / 3))
  const near = [...words]
    .map((one) => ({ one, far: distance(word.toLowerCase(), one.toLowerCase()) }))
    .filter(({ far }) => far <= most)
    .sort((a, b) => a.far - b.far)
  return near[0]?.one
}

/** Returns the hint for an unknown word: the most similar known word, or all known words. */
export function didYouMean(word: string, words: readonly string[]): string {
  const near = nearest(word, words)
  return near === undefined ? `Valid: ${words.join(', ')}.` : `Did you mean '${near}'?`
}
