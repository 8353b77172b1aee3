import { type AdmitCall, type BillableUnits, GatewayError, matchesModel } from '@modelgate/core'
import { meterOfCall } from '../contract/meter-amounts.ts'
import type { Meter } from '../contract/meter-store.ts'
import { isFree, type Prices } from '../prices/prices.ts'
import { type TokenMeter, toWholeCount } from './token-meters.ts'

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
 * Returns those meters of a token and its owner that count a call, with the amounts to reserve.
 *
 * @throws GatewayError `permission` if a budget cannot be enforced for the call: a price is unknown, the call's use would bypass the
 * gateway, or its use is known too late.
 */
export function reservedMeters(
  meters: readonly TokenMeter[],
  call: AdmitCall,
  options: ReserveOptions,
): readonly ReservedMeter[] {
  if (meters.length === 0) return meters
  const bypass = bypasses[call.operation]
  if (bypass !== undefined) checkBypass(meters, bypass)
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
    // The requests of a batch run at the provider, for hours.
    if (call.batch !== undefined && tokenMeter.of === 'concurrent') continue
    if (tokenMeter.models !== undefined && !matchesModel(call.model, tokenMeter.models)) continue
    if (call.background === true && call.settledLater !== true && !countsCalls(tokenMeter.of))
      throw backgroundError(tokenMeter)
    const { amount, least } = amountsFor(tokenMeter, call, expectedUse, options)
    const { from, of, models, per } = tokenMeter
    reserved.push({ from, of, models, per, meter: meterOfCall(tokenMeter.meter, amount, least) })
  }
  return reserved
}

/** An operation that connects the client to the provider itself. The session bypasses the gateway, so its use is unknown. */
interface Bypass {
  readonly what: string
  readonly instead: string
  readonly code: string
}

const realtimeCall: Bypass = {
  what: 'a realtime call',
  instead: 'Open the session through this gateway: connect a WebSocket to /v1/realtime with this API key.',
  code: 'realtime_call_not_allowed',
}

const bypasses: { readonly [operation: string]: Bypass } = {
  'realtime-sessions': {
    ...realtimeCall,
    what: 'a client secret of the provider',
    code: 'realtime_secret_not_allowed',
  },
  'create-call': realtimeCall,
  'accept-call': { ...realtimeCall, instead: 'Use a token without a budget for phone calls.' },
}

function checkBypass(meters: readonly TokenMeter[], { what, instead, code }: Bypass): void {
  const bypassed = meters.find(({ from, of }) => from === 'budget' || !countsCalls(of))
  if (bypassed === undefined) return
  throw new GatewayError(
    'permission',
    `${holderOf(bypassed)} has a budget or a limit of tokens, which ${what} would bypass. ${instead}`,
    { code },
  )
}

/** Names the holder of a limit in a message. Only what the caller knows already: not the owner's name. */
const holderOf = ({ meter }: TokenMeter): string =>
  meter.account === undefined ? 'This token' : 'The owner of this API key'

/** Without a stored reservation, later requests would fetch or continue the response without another charge. */
const backgroundError = (tokenMeter: TokenMeter): GatewayError =>
  new GatewayError(
    'permission',
    `${holderOf(tokenMeter)} has a budget or a limit of tokens, and the gateway cannot learn the usage of this background response: the request has store: false or a conversation, or the gateway stores no responses. Send the request without background.`,
    { param: 'background', code: 'background_not_allowed' },
  )

/** Returns whether a meter counts calls, whatever they use. */
export const countsCalls = (of: TokenMeter['of']): boolean => of === 'requests' || of === 'concurrent'

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
function estimateUse(call: AdmitCall, options: ReserveOptions): ExpectedUse {
  const outputTokens = options.outputTokens * (call.batch?.requests ?? 1)
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
  tokenMeter: TokenMeter,
  call: AdmitCall,
  expectedUse: () => ExpectedUse,
  options: ReserveOptions,
): MeterAmounts {
  switch (tokenMeter.of) {
    case 'requests':
      return { amount: call.batch?.requests ?? 1 }
    case 'concurrent':
      return oneCall
    case 'inputTokens':
      return toAmounts(expectedUse().amount.input, expectedUse().least.input)
    case 'outputTokens':
      return toAmounts(expectedUse().amount.output, expectedUse().least.output)
    case 'tokens':
      return toAmounts(tokensIn(expectedUse().amount), tokensIn(expectedUse().least))
    case 'money':
      return toAmounts(
        costOf(tokenMeter, call, expectedUse().amount, options),
        costOf(tokenMeter, call, expectedUse().least, options),
      )
  }
}

const oneCall: MeterAmounts = { amount: 1 }

const tokensIn = ({ input, output }: Quantity): number => input + output

/** Returns the expected cost in billionths. */
function costOf(
  tokenMeter: TokenMeter,
  call: AdmitCall,
  quantity: Quantity,
  { prices, unpriced }: ReserveOptions,
): number {
  const largestInput = call.batch?.largestInput
  const cost = prices?.estimate(call.targets, {
    ...quantity,
    operation: call.operation,
    ...(largestInput === undefined ? {} : { largestInput }),
  })
  if (cost !== undefined) return cost
  if (unpriced === 'allow') return 0
  throw new GatewayError(
    'permission',
    `The price of '${call.model.slice(0, 100)}' is unknown, and ${holderOf(tokenMeter).replace('The', 'the').replace('This', 'this')} has a budget in money. Ask the operator of this gateway to add the price.`,
    { param: 'model', code: 'model_not_priced' },
  )
}
