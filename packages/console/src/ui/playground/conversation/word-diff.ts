/** A part of two texts: in both, or in one of them only. */
export interface Part {
  readonly in: 'both' | 'first' | 'second'
  readonly text: string
}

export interface WordDiff {
  readonly parts: readonly Part[]
  /** True: the ends of the texts are left out. */
  readonly isCut: boolean
}

/** Limit of the compared words of each text: time and memory grow with its square. */
const mostWords = 1500

const wordsOf = (text: string): readonly string[] => text.match(/\S+\s*/g) ?? []

/** Compares two texts by words. White space is not compared. */
export function diffWords(first: string, second: string): WordDiff {
  const allA = wordsOf(first)
  const allB = wordsOf(second)
  const a = allA.slice(0, mostWords)
  const b = allB.slice(0, mostWords)
  const keysA = a.map((word) => word.trim())
  const keysB = b.map((word) => word.trim())
  const width = b.length + 1
  // Length of the longest common subsequence of the words from i and j on.
  const lengths = new Uint16Array((a.length + 1) * width)
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = keysA[i] === keysB[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))

  const parts: Part[] = []
  const add = (where: Part['in'], text = ''): void => {
    const last = parts.at(-1)
    if (last?.in === where) parts[parts.length - 1] = { in: where, text: last.text + text }
    else parts.push({ in: where, text })
  }
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && keysA[i] === keysB[j]) {
      add('both', a[i++])
      j++
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) add('first', a[i++])
    else add('second', b[j++])
  }
  return { parts, isCut: allA.length > mostWords || allB.length > mostWords }
}
