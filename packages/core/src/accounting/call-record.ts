import { isThenable } from '../base/async.ts'
import { observe, observedValue } from '../base/callbacks.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { type JsonObject, put } from '../base/json/json.ts'
import type { Format, Operation, UpstreamFormat } from '../base/names.ts'
import type { Admission, ExpectedUse } from '../config/admission.ts'
import type { Logger } from '../config/config.ts'
import type { Attempt, Cost, EstimatedBy, FinishEvent, SkippedTarget, UsageBasis } from '../config/finish-event.ts'
import type { Identity } from '../config/identity.ts'
import type { Plugin } from '../config/plugin.ts'
import type { OutputBound, TextFields } from '../formats/codec.ts'
import { isSharedCodec, wireCodecs } from '../formats/codec-registry.ts'
import type { BillableUnits, Loss, ModelRun, Usage } from '../formats/ir.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { CallCapture } from './call-capture.ts'
import { estimateBody } from './estimate-body.ts'

// The call record, and the settlement of a call.
//
//   createCallRecord ──> filled by the pipeline ──> settle(record, ending)      once per call; later calls do nothing
//                                                     │ finalUsage: reported, estimated or partial token counts
//                                                     │ costOf:     the first plugin that knows the price
//                                                     ├─> Admission.settle   of each plugin that admitted the call: limits, budgets
//                                                     └─> Plugin.onFinish    of each plugin: logs, metrics
//
// Token counts come from the upstream if it reported them. A truncated response is estimated from its last few events, and a request
// without a response is charged for its input if an upstream may have processed it.

/** How the tokens of an operation are counted. */
export interface TokenCounting {
  /** The limit of the generated text. Absent: the operation has only input. */
  readonly output?: OutputBound
  /** Fields of its responses that contain text. Default: those of the client's format. */
  readonly textFields?: TextFields
}

/** The state of a call while it runs. `settle` converts it to the FinishEvent. */
export interface CallRecord {
  readonly requestId: string
  operation: Operation
  readonly format: Format
  /** Arrival by `monotonicNow`, in milliseconds. */
  readonly startedAt: number
  /** Arrival in milliseconds since 1970. */
  readonly arrivedAt: number
  identity: Identity | null
  model: string
  stream: boolean
  upstream?: string | undefined
  upstreamModel?: string | undefined
  upstreamFormat?: UpstreamFormat | undefined
  lane?: 'wire' | 'translate' | undefined
  /** The tier that the request to the upstream asks for. */
  requestedTier?: string | undefined
  losses: readonly Loss[]
  usage?: Usage | undefined
  units?: BillableUnits | undefined
  estimate?: EstimatedBy | undefined
  firstEventAt?: number | undefined
  readonly attempts: Attempt[]
  /** Targets that cannot accept the request. */
  skipped?: SkippedTarget[] | undefined
  finish?: string | undefined
  /** How its tokens are counted. Undefined: it has none. */
  tokenCounting?: TokenCounting | undefined
  /** The use that follows from the request, for operations other than chat. */
  expected?: ExpectedUse | undefined
  /** The request, to estimate its input tokens. */
  body?: JsonObject | undefined
  /** Estimated input tokens, if `body` is undefined. */
  estimatedInputTokens?: number | undefined
  /** Estimates the output tokens so far. */
  estimateOutput?: (() => number) | undefined
  /** Admissions of the plugins that accepted the call. Each is settled when the call ends. */
  admissions?: Admission[] | undefined
  /** The request with which the call was admitted before its references were read. Undefined: `tryTargets` admits the call. */
  admittedRequest?: RequestBody | undefined
  /** The upstream continues to process the request after the response. */
  background?: true | undefined
  /** The provider also charges for a session that bypasses the gateway. */
  uncounted?: true | undefined
  /** The gateway stores the id of the background response, so that a later call can read its usage. */
  settledLater?: true | undefined
  /** The admissions are deferred: a later call settles them, and reports the usage. */
  deferred?: true | undefined
  /** Called once when the call is settled. */
  onSettled?: ((event: FinishEvent) => void) | undefined
  /** Responses, transcriptions or turns of a session that have begun, and whose usage is not reported yet. */
  openResponses?: number | undefined
  /** The call is already settled. */
  settled?: boolean | undefined
  /** `onRequest` of the plugins was called, so `onFinish` must follow. */
  pluginsNotified?: boolean | undefined
  /** The gateway has made all its attempts: a retry by the client would only add to the upstream's load. */
  attemptsExhausted?: boolean | undefined
  /** Copies the bodies of the call. Undefined: no plugin asks for them. */
  capture?: CallCapture | undefined
}

/** Creates the record of a call. All members are present from the start, so that all records have one hidden class. */
export const createCallRecord = (requestId: string, operation: Operation, format: Format): CallRecord => ({
  requestId,
  operation,
  format,
  startedAt: performance.now(),
  arrivedAt: Date.now(),
  identity: null,
  model: '',
  stream: false,
  upstream: undefined,
  upstreamModel: undefined,
  upstreamFormat: undefined,
  lane: undefined,
  requestedTier: undefined,
  losses: [],
  usage: undefined,
  units: undefined,
  estimate: undefined,
  firstEventAt: undefined,
  attempts: [],
  skipped: undefined,
  finish: undefined,
  tokenCounting: undefined,
  expected: undefined,
  body: undefined,
  estimatedInputTokens: undefined,
  estimateOutput: undefined,
  admissions: undefined,
  admittedRequest: undefined,
  background: undefined,
  uncounted: undefined,
  settledLater: undefined,
  deferred: undefined,
  onSettled: undefined,
  openResponses: undefined,
  settled: undefined,
  pluginsNotified: undefined,
  attemptsExhausted: undefined,
  capture: undefined,
})

/** The end of a call. */
export interface CallEnding {
  readonly status: number
  readonly outcome: FinishEvent['outcome']
  readonly error?: unknown
}

/** Settles a call: reports it once to the plugins that admitted it, then to all plugins. Exceptions are logged, never thrown. */
export function settle(record: CallRecord, ending: CallEnding, plugins: readonly Plugin[], logger: Logger): void {
  if (record.settled === true) return
  record.settled = true
  const event = finishEventOf(record, ending, plugins, logger)
  if (record.admissions !== undefined)
    for (const admission of record.admissions)
      if (admission.settle !== undefined) observe(logger, 'settling a call', () => admission.settle?.(event))
  record.onSettled?.(event)
  for (const plugin of plugins)
    if (plugin.onFinish !== undefined) observe(logger, 'onFinish', () => plugin.onFinish?.(event), plugin)
}

/** Returns the event of a call that ends now, with its cost. */
export function finishEventOf(
  record: CallRecord,
  ending: CallEnding,
  plugins: readonly Plugin[],
  logger: Logger,
): FinishEvent {
  // Assigned field by field: spreads would cost as much here as validating the request.
  const event: { -readonly [K in keyof FinishEvent]: FinishEvent[K] } = {
    requestId: record.requestId,
    identity: record.identity,
    operation: record.operation,
    format: record.format,
    model: record.model,
    stream: record.stream,
    status: ending.status,
    outcome: ending.outcome,
    losses: record.losses,
    attempts: record.attempts,
    startedAt: record.arrivedAt,
    durationMs: performance.now() - record.startedAt,
  }
  put(event, 'upstream', record.upstream)
  put(event, 'upstreamModel', record.upstreamModel)
  put(event, 'upstreamFormat', record.upstreamFormat)
  put(event, 'lane', record.lane)
  put(event, 'skipped', record.skipped)
  put(event, 'finish', record.finish)
  estimateLostAttempts(record)
  put(event, 'deferred', record.deferred)
  const final = finalUsage(record, ending.outcome)
  put(event, 'usage', final?.usage)
  put(event, 'runs', final?.runs)
  if (final !== undefined)
    put(event, 'tier', final.usage.billed?.tier ?? (final.basis === 'reported' ? undefined : record.requestedTier))
  put(event, 'basis', final?.basis)
  put(event, 'units', billedUnits(record))
  put(event, 'estimate', record.estimate)
  if (isAbandoned(record)) event.abandoned = true
  // While the session runs, the usage of an open response is not missing.
  if (record.settled === true && record.openResponses) event.unreportedResponses = record.openResponses
  if (record.uncounted === true && ending.outcome === 'finished') event.uncounted = true
  put(event, 'error', ending.error)
  if (record.firstEventAt !== undefined) event.firstEventMs = record.firstEventAt - record.startedAt
  put(event, 'cost', costOf(event, plugins, logger))
  for (const attempt of record.attempts)
    if (attempt.lostInputTokens !== undefined) estimateLostCost(attempt, event, plugins, logger)
  return event
}

/** Returns the cost of a call from the first plugin that knows it. */
function costOf(event: FinishEvent, plugins: readonly Plugin[], logger: Logger): Cost | undefined {
  for (const plugin of plugins) {
    if (plugin.costOf === undefined) continue
    const cost = observedValue(logger, 'costOf', () => checkedCost(plugin.costOf?.(event)), plugin)
    if (cost !== undefined) return cost
  }
  return undefined
}

/** Estimates the cost of an attempt without a response, as that of a call that ended with it. */
function estimateLostCost(
  attempt: { -readonly [K in keyof Attempt]: Attempt[K] },
  call: FinishEvent,
  plugins: readonly Plugin[],
  logger: Logger,
): void {
  const { upstream, model: upstreamModel, lostInputTokens: total = 0 } = attempt
  const { runs: _runs, units: _units, tier: _tier, cost: _cost, ...rest } = call
  const usage: Usage = { input: { total }, output: { total: 0 } }
  const lost = { ...rest, upstream, upstreamModel, usage, basis: 'estimated', attempts: [attempt] } as const
  put(attempt, 'lostCost', costOf(lost, plugins, logger))
}

/** Validates the result of `costOf`, which budgets depend on. Throws a TypeError if it is no amount of money. */
function checkedCost(cost: Cost | undefined | null): Cost | undefined {
  // `observedValue` handles promises.
  if (cost === undefined || cost === null || isThenable(cost)) return cost ?? undefined
  const { amount, currency } = cost
  if (
    typeof amount !== 'number' ||
    !(amount >= 0) ||
    amount === Number.POSITIVE_INFINITY ||
    typeof currency !== 'string'
  )
    throw new TypeError(
      "it returned an invalid cost: return { amount: 0.25, currency: 'USD' }, or undefined if it is unknown",
    )
  return cost
}

/** Returns whether a response with this finish reason is not complete yet. */
function isPending(format: Format, finish: string): boolean {
  const codec = wireCodecs[format]
  return isSharedCodec(codec) && codec.pendingFinishes?.includes(finish) === true
}

interface FinalUsage {
  readonly usage: Usage
  readonly basis: UsageBasis
  readonly runs?: readonly ModelRun[]
}

/** Returns the usage of a call and its source. Returns undefined if no model has run, or the operation has no tokens. */
function finalUsage(record: CallRecord, outcome: FinishEvent['outcome']): FinalUsage | undefined {
  const { usage, tokenCounting: counted, firstEventAt, finish } = record
  if (record.deferred === true) return undefined
  if (usage !== undefined && (outcome === 'finished' || finish !== undefined || counted === undefined))
    return usage.billed?.runs === undefined ? { usage, basis: 'reported' } : withAllRuns(usage, usage.billed.runs)
  if (counted === undefined) return undefined
  // Not estimated: tokens that the upstream generates later, and sessions that reported no usage.
  if (finish !== undefined && isPending(record.format, finish)) return undefined
  if (record.background === true && outcome !== 'finished') return undefined
  if (usage === undefined && firstEventAt !== undefined && record.estimateOutput === undefined) return undefined
  // Without a response, an upstream that received the request has probably processed its input.
  if (firstEventAt === undefined && usage === undefined)
    return isAbandoned(record) ? { usage: estimated(record, 0), basis: 'partial' } : undefined
  const outputTokens = record.estimateOutput?.() ?? 0
  if (usage === undefined)
    return { usage: estimated(record, outputTokens), basis: outcome === 'finished' ? 'estimated' : 'partial' }
  // Counts that are reported during a response lag behind its text.
  const { raw: _stale, ...known } = usage
  const output = { ...known.output, total: Math.max(known.output.total, outputTokens) }
  const input = known.input.total > 0 ? known.input : { total: inputOf(record) }
  return { usage: { ...known, input, output }, basis: 'partial' }
}

const estimated = (record: CallRecord, outputTokens: number): Usage => ({
  input: { total: inputOf(record) },
  output: { total: outputTokens },
})

const inputOf = ({ body, estimatedInputTokens: tokens = 0 }: CallRecord): number =>
  body === undefined ? tokens : estimateBody(body)

/** Replaces the request by an estimate of its tokens, to free its memory. */
export function releaseRequest(record: CallRecord): void {
  if (record.body === undefined) return
  record.estimatedInputTokens = estimateBody(record.body)
  record.body = undefined
}

const mayBeBilled = ({ error }: Attempt): boolean => error !== undefined && errorKinds[error].mayBeBilled === true

/** Estimates what attempts without a response have used, except for the one whose use is the call's. */
function estimateLostAttempts(record: CallRecord): void {
  const { attempts, tokenCounting } = record
  if (attempts.length < 2 || tokenCounting === undefined) return
  const lost = attempts.filter(mayBeBilled)
  // If no attempt gave the response, the call is charged for the last one.
  if (attempts.every(({ error }) => error !== undefined)) lost.pop()
  if (lost.length === 0) return
  const tokens = inputOf(record)
  for (const attempt of lost as { -readonly [K in keyof Attempt]: Attempt[K] }[]) attempt.lostInputTokens = tokens
}

/** Returns whether no response arrived although an upstream received the request. */
const isAbandoned = ({ firstEventAt, attempts }: CallRecord): boolean =>
  firstEventAt === undefined && attempts.some(mayBeBilled)

/** Returns the units other than tokens, from the operation and from the reported usage. */
const billedUnits = ({ units, usage }: CallRecord): BillableUnits | undefined =>
  usage?.billed?.units === undefined ? units : { ...units, ...usage.billed.units }

/** Returns the usage with the tokens of all runs, which the provider bills. The usage of the response leaves some of them out. */
function withAllRuns(usage: Usage, runs: readonly ModelRun[]): FinalUsage {
  const total = { input: { total: 0 }, output: { total: 0 } }
  for (const { input, output } of runs) {
    addCounts(total.input, input)
    addCounts(total.output, output)
  }
  // Less than the response itself reports: the list is not complete.
  if (total.input.total < usage.input.total || total.output.total < usage.output.total)
    return { usage, basis: 'reported' }
  const input = { ...usage.input, ...total.input }
  const output = { ...usage.output, ...total.output }
  return { usage: { ...usage, input, output }, basis: 'reported', runs }
}

function addCounts(sum: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count
}
