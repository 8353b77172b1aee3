import { type AdmitCall, type BillableUnits, GatewayError, matchesModel } from '@modelgate/core'
import type { Meter } from '../meters/meter-store.ts'
import { isFree, type Prices } from '../prices/prices.ts'
import type { Token } from '../token.ts'
import { metersOf, type TokenMeter } from './token-meters.ts'
import { whole } from './whole.ts'

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
 * in money cannot be kept, because a price is unknown, and where a call would go past the budgets or is counted too late for them.
 */
export function reservedBy(token: Token, call: AdmitCall, options: ReserveOptions): readonly Reserved[] {
  const all = metersOf(token)
  if (all.length === 0) return all
  if (call.operation === goesPast && all.some(({ from, of }) => from === 'budget' || !isCalls(of))) throw pastBudgets()
  const free = isFree(call.operation)
  let known: Expected | undefined
  // Estimating costs time in proportion to the request: only where tokens or money are limited.
  const expected = (): Expected => {
    known ??= expectedOf(call, options)
    return known
  }
  const reserved: Reserved[] = []
  for (const one of all) {
    if (free && !isCalls(one.of)) continue
    if (one.models !== undefined && !matchesModel(call.model, one.models)) continue
    if (call.background === true && !isCalls(one.of)) throw countedLater()
    reserved.push({ ...one, meter: { ...one.meter, ...roomFor(one, call, expected, options) } })
  }
  return reserved
}

/** Its answer is a secret of the provider's: what is done with that passes by the gateway. */
const goesPast = 'realtime-sessions'

const pastBudgets = (): GatewayError =>
  new GatewayError(
    'permission',
    'This token has a budget or a limit of tokens, which a client secret of the provider would go past: open the session through this gateway, by a WebSocket to /v1/realtime with this token.',
    { code: 'realtime_secret_not_allowed' },
  )

/** A budget would count what was reserved only, and the answer is fetched, or gone on from, without a further charge. */
const countedLater = (): GatewayError =>
  new GatewayError(
    'permission',
    'This token has a budget or a limit of tokens, and what a response in the background uses is known only later: send the request without background.',
    { param: 'background', code: 'background_not_allowed' },
  )

/** What counts calls, whatever these take. */
const isCalls = (of: TokenMeter['of']): boolean => of === 'requests' || of === 'concurrent'

/** A quantity of tokens, and of images, characters, seconds or searches where the request makes them known. */
interface Quantity {
  readonly input: number
  readonly output: number
  readonly units?: BillableUnits | undefined
}

/** The quantity that a call reserves, and the smaller one that must fit into what is left. */
interface Expected {
  readonly amount: Quantity
  readonly least: Quantity
}

/**
 * Agents allow 64,000 tokens of output and use 500: who reserved all that is allowed would refuse calls that cost next to nothing.
 * What a call takes beyond is counted when it is over. A guess refuses nobody while there is any room.
 */
function expectedOf(call: AdmitCall, { outputTokens }: ReserveOptions): Expected {
  const { input: about, output, units, least } = call.estimate()
  const input = whole(about)
  // The request itself makes the quantity known (images, characters, audio): it is reserved whole, whatever its size.
  if (least !== undefined)
    return {
      amount: { input, output: whole(output ?? 0), units },
      least: {
        input: whole(least.input ?? about),
        output: whole(least.output ?? output ?? 0),
        units: least.units ?? units,
      },
    }
  if (output !== undefined && output <= outputTokens) {
    const amount = { input, output: whole(output) }
    return { amount, least: amount }
  }
  return { amount: { input, output: whole(outputTokens) }, least: { input, output: 1 } }
}

type Room = Pick<Meter, 'amount' | 'least'>

/** What may take something needs room for something: where nothing is left, nobody is let in. */
const roomOf = (amount: number, least: number): Room => ({ amount: whole(amount), least: Math.max(1, whole(least)) })

function roomFor({ of }: TokenMeter, call: AdmitCall, expected: () => Expected, options: ReserveOptions): Room {
  switch (of) {
    case 'requests':
    case 'concurrent':
      return { amount: 1 }
    case 'inputTokens':
      return roomOf(expected().amount.input, expected().least.input)
    case 'outputTokens':
      return roomOf(expected().amount.output, expected().least.output)
    case 'tokens':
      return roomOf(tokensIn(expected().amount), tokensIn(expected().least))
    case 'money':
      return roomOf(moneyFor(call, expected().amount, options), moneyFor(call, expected().least, options))
  }
}

const tokensIn = ({ input, output }: Quantity): number => input + output

function moneyFor(call: AdmitCall, quantity: Quantity, { prices, unpriced }: ReserveOptions): number {
  const money = prices?.estimate(call.targets, { ...quantity, operation: call.operation })
  if (money !== undefined) return money
  if (unpriced === 'allow') return 0
  throw new GatewayError(
    'permission',
    `The price of '${call.model.slice(0, 100)}' is unknown, and this token has a budget in money: whoever runs this gateway has to add the price.`,
    { param: 'model', code: 'model_not_priced' },
  )
}
