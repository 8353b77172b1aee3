import { type AdmitCall, type BillableUnits, GatewayError, matchesModel } from '@modelgate/core'
import type { Meter } from '../contract/meter-store.ts'
import type { Token } from '../contract/token.ts'
import { isFree, type Prices } from '../prices/prices.ts'
import { metersOf, type TokenMeter, toWholeCount } from './token-meters.ts'

export interface ReserveOptions {
  /** Undefined: no price is known. */
  readonly prices: Prices | undefined
  /** Maximum number of output tokens to reserve for a call. */
  readonly outputTokens: number
  /** Admits or refuses calls with an unknown price if their token has a budget in money. */
  readonly unpriced: 'refuse' | 'allow'
}

/** A meter that counts a call, with the amount to reserve. */
export interface ReservedMeter extends TokenMeter {
  readonly meter: Meter
}

/**
 * Returns the meters of a token that count a call, with the amounts to reserve.
 *
 * @throws GatewayError `permission` if a budget cannot be enforced for the call: a price is unknown, the call's use would bypass the
 * gateway, or its use is known too late.
 */
export function reservedMeters(token: Token, call: AdmitCall, options: ReserveOptions): readonly ReservedMeter[] {
  const meters = metersOf(token)
  if (meters.length === 0) return meters
  if (call.operation === clientSecretOperation && meters.some(({ from, of }) => from === 'budget' || !countsCalls(of)))
    throw clientSecretError()
  const free = isFree(call.operation)
  let cachedUse: ExpectedUse | undefined
  // Lazy: an estimate costs time in proportion to the request, and only meters of tokens or money need it.
  const expectedUse = (): ExpectedUse => {
    cachedUse ??= estimateUse(call, options)
    return cachedUse
  }
  const reserved: ReservedMeter[] = []
  for (const tokenMeter of meters) {
    if (free && !countsCalls(tokenMeter.of)) continue
    if (tokenMeter.models !== undefined && !matchesModel(call.model, tokenMeter.models)) continue
    if (call.background === true && !countsCalls(tokenMeter.of)) throw backgroundError()
    const amounts = amountsFor(tokenMeter, call, expectedUse, options)
    reserved.push({ ...tokenMeter, meter: { ...tokenMeter.meter, ...amounts } })
  }
  return reserved
}

/** Returns a secret of the provider to the client. Sessions that use it bypass the gateway. */
const clientSecretOperation = 'realtime-sessions'

const clientSecretError = (): GatewayError =>
  new GatewayError(
    'permission',
    'This token has a budget or a limit of tokens, which a client secret of the provider would bypass. Open the session through this gateway: connect a WebSocket to /v1/realtime with this token.',
    { code: 'realtime_secret_not_allowed' },
  )

/** A budget would count the reservation only: later requests fetch or continue the response without another charge. */
const backgroundError = (): GatewayError =>
  new GatewayError(
    'permission',
    'This token has a budget or a limit of tokens, and the usage of a background response is known only later. Send the request without background.',
    { param: 'background', code: 'background_not_allowed' },
  )

/** Returns whether a meter counts calls, whatever they use. */
const countsCalls = (of: TokenMeter['of']): boolean => of === 'requests' || of === 'concurrent'

/** A number of tokens, and of images, characters, seconds or searches if the request determines them. */
interface Quantity {
  readonly input: number
  readonly output: number
  readonly units?: BillableUnits | undefined
}

interface ExpectedUse {
  /** The quantity to reserve. */
  readonly amount: Quantity
  /** The smaller quantity for which there must be room. */
  readonly least: Quantity
}

/**
 * Estimates what a call will use. Agents allow 64,000 output tokens and use 500: reserving all of them would reject calls that cost
 * next to nothing. So at most `outputTokens` are reserved, and the rest is counted at settlement. A call whose output is a guess is
 * admitted while there is any room.
 */
function estimateUse(call: AdmitCall, { outputTokens }: ReserveOptions): ExpectedUse {
  const { input: estimatedInput, output, units, least } = call.estimate()
  const input = toWholeCount(estimatedInput)
  // The request itself determines the quantity (images, characters, audio): all of it is reserved.
  if (least !== undefined)
    return {
      amount: { input, output: toWholeCount(output ?? 0), units },
      least: {
        input: toWholeCount(least.input ?? estimatedInput),
        output: toWholeCount(least.output ?? output ?? 0),
        units: least.units ?? units,
      },
    }
  if (output !== undefined && output <= outputTokens) {
    const amount = { input, output: toWholeCount(output) }
    return { amount, least: amount }
  }
  return { amount: { input, output: toWholeCount(outputTokens) }, least: { input, output: 1 } }
}

type MeterAmounts = Pick<Meter, 'amount' | 'least'>

/** A call that may use something needs room for at least 1, so that nothing is admitted when nothing is left. */
const toAmounts = (amount: number, least: number): MeterAmounts => ({
  amount: toWholeCount(amount),
  least: Math.max(1, toWholeCount(least)),
})

function amountsFor(
  { of }: TokenMeter,
  call: AdmitCall,
  expectedUse: () => ExpectedUse,
  options: ReserveOptions,
): MeterAmounts {
  switch (of) {
    case 'requests':
    case 'concurrent':
      return { amount: 1 }
    case 'inputTokens':
      return toAmounts(expectedUse().amount.input, expectedUse().least.input)
    case 'outputTokens':
      return toAmounts(expectedUse().amount.output, expectedUse().least.output)
    case 'tokens':
      return toAmounts(tokensIn(expectedUse().amount), tokensIn(expectedUse().least))
    case 'money':
      return toAmounts(costOf(call, expectedUse().amount, options), costOf(call, expectedUse().least, options))
  }
}

const tokensIn = ({ input, output }: Quantity): number => input + output

/** Returns the expected cost in billionths. */
function costOf(call: AdmitCall, quantity: Quantity, { prices, unpriced }: ReserveOptions): number {
  const cost = prices?.estimate(call.targets, { ...quantity, operation: call.operation })
  if (cost !== undefined) return cost
  if (unpriced === 'allow') return 0
  throw new GatewayError(
    'permission',
    `The price of '${call.model.slice(0, 100)}' is unknown, and this token has a budget in money. Ask the operator of this gateway to add the price.`,
    { param: 'model', code: 'model_not_priced' },
  )
}
