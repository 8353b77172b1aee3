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
  let expected: Expected | undefined
  /** Asked for only where tokens count. */
  const tokens = (): Expected => {
    expected ??= expectedOf(call, options)
    return expected
  }
  const reserved: Reserved[] = []
  for (const one of all) {
    if (one.models !== undefined && !namesModel(call.model, one.models)) continue
    reserved.push({ ...one, meter: { ...one.meter, ...roomFor(one, call, tokens, options) } })
  }
  return reserved
}

/** Tokens that a call is expected to take. */
interface Expected {
  readonly input: number
  readonly output: number
  /** Output that there has to be room for: all of it where the client bounds it, one token where it is a guess. */
  readonly leastOutput: number
}

/**
 * Agents allow 64,000 tokens of output and use 500: who reserved all that is allowed would refuse calls that cost next to nothing.
 * What a call takes beyond is counted when it is over. A guess refuses nobody while there is any room.
 */
function expectedOf(call: AdmitCall, { outputTokens }: ReserveOptions): Expected {
  const { input, output } = call.estimate()
  if (output !== undefined && output <= outputTokens) return { input, output, leastOutput: output }
  return { input, output: outputTokens, leastOutput: 1 }
}

type Room = Pick<Meter, 'amount' | 'least'>

function roomFor({ of }: TokenMeter, call: AdmitCall, tokens: () => Expected, options: ReserveOptions): Room {
  switch (of) {
    case 'requests':
    case 'concurrent':
      return { amount: 1 }
    case 'inputTokens':
      return { amount: tokens().input }
    case 'outputTokens':
      return { amount: tokens().output, least: tokens().leastOutput }
    case 'tokens':
      return { amount: tokens().input + tokens().output, least: tokens().input + tokens().leastOutput }
    case 'money':
      return { amount: moneyFor(call, tokens(), options), least: moneyFor(call, leastOf(tokens()), options) }
  }
}

const leastOf = ({ input, leastOutput }: Expected) => ({ input, output: leastOutput })

function moneyFor(
  call: AdmitCall,
  tokens: { readonly input: number; readonly output: number },
  { prices, unpriced }: ReserveOptions,
): number {
  const money = prices?.estimate(call.targets, tokens)
  if (money !== undefined) return money
  if (unpriced === 'allow') return 0
  throw new GatewayError(
    'permission',
    `The price of '${call.model.slice(0, 100)}' is unknown, and this token has a budget in money: whoever runs this gateway has to add the price.`,
    { param: 'model', code: 'model_not_priced' },
  )
}
