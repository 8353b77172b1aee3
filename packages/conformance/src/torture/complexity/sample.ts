import type { Case } from './cases.ts'

/** Returns a deterministic number for a text. */
function hash(text: string): number {
  let sum = 2166136261
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 16777619)
  return sum >>> 0
}

/** For each kind, one of this many attacks is selected. */
export interface Shares {
  readonly [kind: string]: number
  /** All other kinds. */
  readonly others: number
}

/** Schemas have the largest share, because a few of their bytes cost the most. */
export const shortShares: Shares = { schema: 128, list: 192, form: 8, lines: 8, others: 384 }
/** Texts and maps are read once, by code that all attacks of a kind share. */
export const fullShares: Shares = { text: 2, map: 2, others: 1 }

/**
 * Returns the attacks of a form: always the same, a share of each kind, and at least one of each kind on each endpoint
 * with each upstream.
 */
export function sample(cases: ReadonlyMap<string, Case>, shares: Shares): string[] {
  const covered = new Set<string>()
  return [...cases].flatMap(([name, { endpoint, pair, side, kind }]) => {
    const stratum = `${endpoint} ${pair} ${side} ${kind}`
    if (covered.has(stratum) && hash(name) % (shares[kind] ?? shares.others) !== 0) return []
    covered.add(stratum)
    return [name]
  })
}

/** Returns the family of an attack: failures at fifty places for one reason are reported once. */
export const familyOf = ({ side, attack }: Case): string =>
  `${side}: ${attack.includes(' schema: ') ? attack.slice(attack.indexOf(' schema: ') + 1) : attack}`

/**
 * Kinds of which a share is also measured at a large size; texts and maps are read once, by code that all kinds share.
 */
const largeKinds: ReadonlySet<string> = new Set(['list', 'pair', 'schema', 'events', 'form'])

/**
 * Returns one attack of each family on rotating pairs, and for schemas one per client format.
 *
 * @param schemas selects one of this many schema families
 * @param others selects one of this many other families
 */
export function representatives(
  cases: ReadonlyMap<string, Case>,
  { schemas, others }: { readonly schemas: number; readonly others: number },
): string[] {
  const best = new Map<string, { readonly name: string; readonly order: number }>()
  for (const [name, one] of cases) {
    if (!largeKinds.has(one.kind)) continue
    const isSchema = one.kind === 'schema'
    const family = isSchema ? `${one.pair.split(' ')[0]} ${familyOf(one)}` : familyOf(one)
    if (hash(family) % (isSchema ? schemas : others) !== 0) continue
    const order = hash(name)
    const known = best.get(family)
    if (known === undefined || order < known.order) best.set(family, { name, order })
  }
  return [...best.values()].map(({ name }) => name)
}
