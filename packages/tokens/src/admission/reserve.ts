import { type AdmitCall, GatewayError, namesModel } from '@modelgate/core'
import type { Meter } from '../meters/meter-store.ts'
import type { Prices } from '../prices/prices.ts'
import type { Token } from '../token.ts'
import { metersOf, type TokenMeter } from './token-meters.ts'

export interface ReserveOptions {
  /** What models cost; undefined: nobody knows. */
  readonly prices: Prices | undefined
  /** Output tokens that are reserved for a call, at most. */
  readonly outputTokens: number
  /** Whether a call whose price is unknown is let in although there is a budget in money. */
  readonly unpriced: 'refuse' | 'allow'
}

/** A count that holds for a call, with what is reserved of it. */
export interface Reserved extends TokenMeter {
  readonly meter: Meter
}

/**
 * What a call reserves of each of its token's counts that hold for its model. Throws a GatewayError `permission` where a budget
 * in money cannot be kept, because a price is unknown.
 */
export function reservedBy(token: Token, call: AdmitCall, options: ReserveOptions): readonly Reserved[] {
  const all = metersOf(token)
  if (all.length === 0) return all
  let estimate: { readonly input: number; readonly output: number } | undefined
  /** Asked for only where tokens count. */
  const tokens = () => {
    estimate ??= estimateOf(call, options)
    return estimate
  }
  const reserved: Reserved[] = []
  for (const one of all) {
    if (one.models !== undefined && !namesModel(call.model, one.models)) continue
    reserved.push({ ...one, meter: { ...one.meter, amount: amountOf(one, call, tokens, options) } })
  }
  return reserved
}

/**
 * Agents allow 64,000 tokens of output and use 500: who reserved all that is allowed would refuse calls that cost next to nothing.
 * What a call takes beyond is counted when it is over.
 */
function estimateOf(call: AdmitCall, { outputTokens }: ReserveOptions): { input: number; output: number } {
  const { input, output } = call.estimate()
  return { input, output: Math.min(output ?? outputTokens, outputTokens) }
}

function amountOf(
  { of }: TokenMeter,
  call: AdmitCall,
  tokens: () => { readonly input: number; readonly output: number },
  { prices, unpriced }: ReserveOptions,
): number {
  switch (of) {
    case 'requests':
    case 'concurrent':
      return 1
    case 'inputTokens':
      return tokens().input
    case 'outputTokens':
      return tokens().output
    case 'tokens':
      return tokens().input + tokens().output
    case 'money': {
      const money = prices?.estimate(call.targets, tokens())
      if (money !== undefined) return money
      if (unpriced === 'allow') return 0
      throw new GatewayError(
        'permission',
        `The price of '${call.model.slice(0, 100)}' is unknown, and this token has a budget in money: whoever runs this gateway has to add the price.`,
        { param: 'model', code: 'unpriced_model' },
      )
    }
  }
}
