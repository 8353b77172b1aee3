import type { Case } from './cases.ts'

/** The same number for the same text, everywhere. */
function hash(text: string): number {
  let sum = 2166136261
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 16777619)
  return sum >>> 0
}

/** One of how many attacks of a kind the short form makes: schemas are where a few bytes cost the most. */
const shares: Readonly<Record<string, number>> = { schema: 8, list: 12, form: 2, lines: 4 }
const otherShare = 24

/**
 * The attacks of the short form: always the same, a share of each kind, and at least one of each kind on each endpoint with each
 * upstream.
 */
export function sample(cases: ReadonlyMap<string, Case>): string[] {
  const covered = new Set<string>()
  return [...cases].flatMap(([name, { endpoint, pair, side, kind }]) => {
    const stratum = `${endpoint} ${pair} ${side} ${kind}`
    if (covered.has(stratum) && hash(name) % (shares[kind] ?? otherShare) !== 0) return []
    covered.add(stratum)
    return [name]
  })
}

/** What an attack is about, wherever it is made: what fails at fifty places for one reason is told once. */
export const familyOf = ({ side, attack }: Case): string =>
  `${side}: ${attack.includes(' schema: ') ? attack.slice(attack.indexOf(' schema: ') + 1) : attack}`
