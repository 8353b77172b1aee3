import type { BillableUnits, Usage } from '@modelgate/core'
import { toBillionths } from './money.ts'
import { type Price, priceFields } from './price-table.ts'

/** A price in whole billionths of the currency unit, for what the price is for. */
export type Rates = { readonly [Field in keyof Price]?: bigint }

export const ratesOf = (price: Price): Rates =>
  Object.fromEntries(
    priceFields.flatMap((field) => (price[field] === undefined ? [] : [[field, BigInt(toBillionths(price[field]))]])),
  )

/** What a call has used. */
export interface PricedUse {
  readonly usage?: Usage | undefined
  readonly units?: BillableUnits | undefined
}

/** How much a price is for. */
const per = { tokens: 1_000_000n, characters: 1_000_000n, minute: 60n, one: 1n } as const
const millionths = 1_000_000n
/** Sums are kept as multiples of a billionth's 6 × 10¹³th part: no part of a call is rounded, the call is, once. */
const scale = millionths * 60n * 1_000_000n

/** Counts are whole as a rule; seconds are not. */
const inMillionths = (count: number): bigint =>
  Number.isInteger(count) ? BigInt(count) * millionths : BigInt(Math.round(count * 1e6))

/** Some of what a call has used, with the fields that may have its price, the first first. */
interface Part {
  readonly count: number
  readonly fields: readonly (keyof Price)[]
}

/**
 * The parts of a total, which overlap where tokens of sound or images came from a cache: nobody says how many. So each is
 * taken off the total in turn, at most what is left of it, and no token is charged twice.
 */
function split(total: number, rest: keyof Price, parts: readonly Part[]): readonly Part[] {
  let left = total
  const taken = parts.map(({ count, fields }) => {
    const share = Math.min(count, left)
    left -= share
    return { count: share, fields }
  })
  return [...taken, { count: left, fields: [rest] }]
}

const inputParts = ({ total, cacheRead, cacheWrite, cacheWrite1h, audio, image }: Usage['input']): readonly Part[] => {
  const hour = cacheWrite1h ?? 0
  return split(total, 'input', [
    { count: cacheRead ?? 0, fields: ['cachedInput', 'input'] },
    { count: hour, fields: ['cacheWrite1h', 'cacheWrite', 'input'] },
    { count: Math.max(0, (cacheWrite ?? 0) - hour), fields: ['cacheWrite', 'input'] },
    { count: audio ?? 0, fields: ['audioInput', 'input'] },
    { count: image ?? 0, fields: ['imageInput', 'input'] },
  ])
}

const outputParts = ({ total, reasoning, audio, image }: Usage['output']): readonly Part[] =>
  split(total, 'output', [
    { count: reasoning ?? 0, fields: ['reasoning', 'output'] },
    { count: audio ?? 0, fields: ['audioOutput', 'output'] },
    { count: image ?? 0, fields: ['imageOutput', 'output'] },
  ])

const tokenFields = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWrite1h',
  'audioInput',
  'imageInput',
  'output',
  'reasoning',
  'audioOutput',
  'imageOutput',
] as const satisfies readonly (keyof Price)[]

/** Whether a model has a price for any kind of token. */
export const isPricedByTokens = (rates: Rates): boolean => tokenFields.some((field) => rates[field] !== undefined)

/** Units that many models count as tokens, too: of the input what is read, of the output what is made. */
const media = [
  { unit: 'images', field: 'image', per: 'one', side: 'output' },
  { unit: 'seconds', field: 'minute', per: 'minute', side: 'input' },
  { unit: 'characters', field: 'characters', per: 'characters', side: 'output' },
] as const

/**
 * What a call costs, in whole billionths; half of one is rounded up. undefined: it used something for which there is no price,
 * or nobody knows what it used.
 */
export function totalCost(rates: Rates, { usage, units }: PricedUse): bigint | undefined {
  if (!areCounts(usage?.input) || !areCounts(usage?.output) || !areCounts(units)) return undefined
  const { sum, isAll } = reckon(rates, { usage, units })
  return isAll ? rounded(sum) : undefined
}

/** The part of what a call costs that has a price; counts that cannot be true are left out. */
export function knownCost(rates: Rates, { usage, units }: PricedUse): bigint {
  const areTokens = areCounts(usage?.input) && areCounts(usage?.output)
  const use = { usage: areTokens ? usage : undefined, units: areCounts(units) ? units : undefined }
  return rounded(reckon(rates, use).sum)
}

const rounded = (sum: bigint): bigint => (2n * sum + scale) / (2n * scale)

/** `isAll`: nothing was used that has no price. */
function reckon(rates: Rates, { usage, units = {} }: PricedUse): { readonly sum: bigint; readonly isAll: boolean } {
  let sum = (rates.request ?? 0n) * scale
  let isAll = true
  const charge = (count: number, rate: bigint | undefined, of: keyof typeof per): void => {
    if (rate !== undefined) sum += rate * inMillionths(count) * (scale / millionths / per[of])
    else if (count > 0) isAll = false
  }

  const byTokens = isPricedByTokens(rates)
  const byMedia = media.some(({ unit, field }) => units[unit] !== undefined && rates[field] !== undefined)
  const bySomethingElse = !byTokens && media.every(({ field }) => rates[field] === undefined)
  if (usage === undefined && !byMedia && !bySomethingElse) isAll = false

  // A model that is priced by the image is not priced by the tokens that it also counts.
  if (usage !== undefined && (byTokens || !byMedia)) {
    for (const { count, fields } of [...inputParts(usage.input), ...outputParts(usage.output)]) {
      const field = fields.find((name) => rates[name] !== undefined)
      charge(count, field === undefined ? undefined : rates[field], 'tokens')
    }
  }
  for (const { unit, field, per: of, side } of media) {
    const count = units[unit] ?? 0
    const areTokens = byTokens && usage !== undefined && usage[side].total > 0
    if (rates[field] !== undefined || !areTokens) charge(count, rates[field], of)
  }
  charge(units.searches ?? 0, rates.search, 'one')
  return { sum, isAll }
}

/** Whether nothing among them is something else than a count that can be true. */
const areCounts = (counts: object | undefined): boolean =>
  Object.values(counts ?? {}).every(
    (count) => count === undefined || (typeof count === 'number' && count >= 0 && count <= Number.MAX_SAFE_INTEGER),
  )
