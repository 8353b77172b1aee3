import type { BillableUnits, Usage } from '@modelgate/core'
import { toBillionths } from './money.ts'
import { type BasePrice, priceFields } from './price-table.ts'

type CachedMedia = NonNullable<NonNullable<Usage['billed']>['cached']>

/** The prices of a model, in whole billionths of the currency unit. */
export type Rates = { readonly [Field in keyof BasePrice]?: bigint | undefined }

export const ratesOf = (price: BasePrice): Rates =>
  Object.fromEntries(
    priceFields.flatMap((field) => (price[field] === undefined ? [] : [[field, BigInt(toBillionths(price[field]))]])),
  )

/** The use of a call. */
export interface PricedUse {
  readonly usage?: Pick<Usage, 'input' | 'output' | 'billed'> | undefined
  readonly units?: BillableUnits | undefined
}

/** Quantity that a price is for. */
const per = { tokens: 1_000_000n, characters: 1_000_000n, minute: 60n, one: 1n } as const
const millionths = 1_000_000n
/** Sums are exact: they are kept in parts of 1/(6 × 10¹³) billionth. Only the cost of the whole call is rounded, once. */
const scale = millionths * 60n * 1_000_000n

/** Converts a count to millionths. Counts are usually whole, but seconds are not. */
const inMillionths = (count: number): bigint =>
  Number.isInteger(count) ? BigInt(count) * millionths : BigInt(Math.round(count * 1e6))

/** A part of a call's use, with the prices that may apply to it, in order of preference. */
interface Part {
  readonly count: number
  readonly fields: readonly (keyof BasePrice)[]
}

/**
 * Splits a total into parts. Parts may overlap by an unknown number (audio or image tokens from a cache). So each part is
 * deducted from the total in turn, at most the remainder of it, and no token is charged twice.
 */
function split(total: number, remainder: keyof BasePrice, parts: readonly Part[]): readonly Part[] {
  let left = total
  const shares = parts.map(({ count, fields }) => {
    const share = Math.min(count, left)
    left -= share
    return { count: share, fields }
  })
  return [...shares, { count: left, fields: [remainder] }]
}

/** An upstream that does not report which part of its cached tokens were audio or images. */
const noMedia: CachedMedia = { audio: 0, image: 0 }

const inputParts = (counts: Usage['input'], cached: CachedMedia = noMedia): readonly Part[] => {
  const { total, cacheRead, cacheWrite, cacheWrite1h, cacheWrite12h, audio, image } = counts
  const hour = cacheWrite1h ?? 0
  const halfDay = cacheWrite12h ?? 0
  return split(total, 'input', [
    { count: cacheRead ?? 0, fields: ['cachedInput', 'input'] },
    { count: hour, fields: ['cacheWrite1h', 'cacheWrite', 'input'] },
    { count: halfDay, fields: ['cacheWrite12h', 'cacheWrite', 'input'] },
    { count: Math.max(0, (cacheWrite ?? 0) - hour - halfDay), fields: ['cacheWrite', 'input'] },
    { count: Math.max(0, (audio ?? 0) - cached.audio), fields: ['audioInput', 'input'] },
    { count: Math.max(0, (image ?? 0) - cached.image), fields: ['imageInput', 'input'] },
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
  'cacheWrite12h',
  'audioInput',
  'imageInput',
  'output',
  'reasoning',
  'audioOutput',
  'imageOutput',
] as const satisfies readonly (keyof BasePrice)[]

/** Returns whether a model has a price for any kind of token. */
export const isPricedByTokens = (rates: Rates): boolean => tokenFields.some((field) => rates[field] !== undefined)

/** Units that many models also count as tokens of the given side. */
const media = [
  { unit: 'images', field: 'image', per: 'one', side: 'output' },
  { unit: 'seconds', field: 'minute', per: 'minute', side: 'input' },
  { unit: 'characters', field: 'characters', per: 'characters', side: 'output' },
] as const

/** One run of a model with the prices of that model. Undefined: they are unknown. */
export interface PricedRun extends PricedUse {
  readonly rates: Rates | undefined
}

/**
 * Returns the cost of a call's runs in whole billionths, rounded once, with halves rounded up. Returns undefined if a run used something
 * without a price, or if its use is unknown.
 */
export function totalCost(runs: readonly PricedRun[]): bigint | undefined {
  let total = 0n
  for (const { rates, usage, units } of runs) {
    if (rates === undefined || !areCounts(usage?.input) || !areCounts(usage?.output) || !areCounts(units))
      return undefined
    const { sum, isComplete } = sumCosts(rates, { usage, units })
    if (!isComplete) return undefined
    total += sum
  }
  return rounded(total)
}

/** Returns the cost of the parts with a price. Invalid counts are ignored. */
export function knownCost(runs: readonly PricedRun[]): bigint {
  let total = 0n
  for (const { rates, usage, units } of runs) {
    if (rates === undefined) continue
    const areTokens = areCounts(usage?.input) && areCounts(usage?.output)
    const use = { usage: areTokens ? usage : undefined, units: areCounts(units) ? units : undefined }
    total += sumCosts(rates, use).sum
  }
  return rounded(total)
}

const rounded = (sum: bigint): bigint => (2n * sum + scale) / (2n * scale)

/** Returns the exact sum, and in `isComplete` whether everything that was used has a price. */
function sumCosts(
  rates: Rates,
  { usage, units = {} }: PricedUse,
): { readonly sum: bigint; readonly isComplete: boolean } {
  let sum = (rates.request ?? 0n) * scale
  let isComplete = true
  const charge = (count: number, rate: bigint | undefined, of: keyof typeof per): void => {
    if (rate !== undefined) sum += rate * inMillionths(count) * (scale / millionths / per[of])
    else if (count > 0) isComplete = false
  }

  const byTokens = isPricedByTokens(rates)
  const byMedia = media.some(({ unit, field }) => units[unit] !== undefined && rates[field] !== undefined)
  const byOtherUnits = !byTokens && media.every(({ field }) => rates[field] === undefined)
  if (usage === undefined && !byMedia && !byOtherUnits) isComplete = false

  // A model with a price per image reports tokens as well, which are not charged.
  if (usage !== undefined && (byTokens || !byMedia)) {
    for (const { count, fields } of [...inputParts(usage.input, usage.billed?.cached), ...outputParts(usage.output)]) {
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
  // Providers rarely charge for a page itself.
  charge(units.fetches ?? 0, rates.fetch ?? 0n, 'one')
  charge(units.executions ?? 0, rates.execution, 'one')
  return { sum, isComplete }
}

/** Returns whether all values are valid counts or undefined. */
const areCounts = (counts: object | undefined): boolean =>
  Object.values(counts ?? {}).every(
    (count) => count === undefined || (typeof count === 'number' && count >= 0 && count <= Number.MAX_SAFE_INTEGER),
  )
