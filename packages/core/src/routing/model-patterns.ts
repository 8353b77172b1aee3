/** A model name as the configuration writes it: `*` in it stands for any characters, also none. */
export interface NamePattern {
  /** What each `*` stood for; undefined if the name is another. */
  match(name: string): readonly string[] | undefined
  /** Characters beside the stars: the more, the more exact. */
  readonly weight: number
}

/**
 * No regular expressions: names come from clients, and some patterns take a matcher with backtracking longer than the
 * universe has. Here every star but the last takes as little as it can, which never misses a match, and nothing is tried twice.
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

/** A name with stars, filled with what stars of another matched; one that is left over stands for nothing. */
export function fillStars(name: string, stars: readonly string[]): string {
  if (!name.includes('*')) return name
  const parts = name.split('*')
  return parts.map((part, at) => (at === parts.length - 1 ? part : part + (stars[at] ?? ''))).join('')
}

/** Whether a name is among those that a list of patterns allows. */
export const matchesModel = (name: string, patterns: readonly string[]): boolean =>
  patterns.some(
    (pattern) => pattern === name || (pattern.includes('*') && namePattern(pattern).match(name) !== undefined),
  )
