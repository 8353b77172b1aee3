/** A model name of the configuration, in which each `*` matches any number of characters. */
export interface NamePattern {
  /** Returns the text that each `*` matched; undefined if the name does not match. */
  match(name: string): readonly string[] | undefined
  /** Number of characters other than `*`: a greater number is a more specific pattern. */
  readonly weight: number
}

/**
 * Compiles a pattern. Regular expressions are not used: names come from clients, and some patterns take exponential time with
 * backtracking. Here each star except the last matches as little as possible, which finds every match without backtracking.
 */
export function namePattern(pattern: string): NamePattern {
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop()
  const weight = pattern.length - (tail === undefined ? 0 : rest.length + 1)
  if (tail === undefined) return { weight, match: (name) => (name === pattern ? [] : undefined) }
  return {
    weight,
    match(name) {
      if (name.length < weight || !name.startsWith(head) || !name.endsWith(tail)) return undefined
      const until = name.length - tail.length
      const stars: string[] = []
      let from = head.length
      for (const literal of rest) {
        const at = name.indexOf(literal, from)
        if (at < 0 || at + literal.length > until) return undefined
        stars.push(name.slice(from, at))
        from = at + literal.length
      }
      stars.push(name.slice(from, until))
      return stars
    },
  }
}

/** Replaces each `*` of a name by the text that the corresponding star matched. Surplus stars are removed. */
export function fillStars(name: string, stars: readonly string[]): string {
  if (!name.includes('*')) return name
  const parts = name.split('*')
  return parts.map((part, at) => (at === parts.length - 1 ? part : part + (stars[at] ?? ''))).join('')
}

/** Returns whether a model name matches one of the patterns. A `*` in a pattern matches any number of characters. */
export const matchesModel = (name: string, patterns: readonly string[]): boolean =>
  patterns.some(
    (pattern) => pattern === name || (pattern.includes('*') && namePattern(pattern).match(name) !== undefined),
  )
