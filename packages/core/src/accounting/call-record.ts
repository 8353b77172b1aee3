import { isThenable } from '../base/async.ts'
import { observe, observedValue } from '../base/callbacks.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { put } from '../base/json/object.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { Format, Operation, UpstreamFormat } from '../base/names.ts'
import type { Logger } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import type {
  Admission,
  Attempt,
  Cost,
  EstimatedBy,
  ExpectedUse,
  FinishEvent,
  Plugin,
  SkippedTarget,
  UsageBasis,
} from '../config/plugin.ts'
import type { OutputBound, TextFields } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import type { BillableUnits, Loss, Usage } from '../formats/ir.ts'
import { estimateBody } from './estimate-body.ts'

/** How an operation is counted in tokens. */
export interface TokenCounting {
  /** It has text written. Absent: input alone. */
  readonly output?: OutputBound
  /** Where its answers say something, if not where those of the client's format do. */
  readonly textFields?: TextFields
}

/** What is known of a call while it runs; `settle` turns it into the one FinishEvent. */
export interface CallRecord {
  readonly requestId: string
  operation: Operation
  readonly format: Format
  /** By the clock that never goes back. */
  readonly startedAt: number
  /** When the call arrived, in milliseconds since 1970. */
  readonly arrivedAt: number
  identity: Identity | null
  model: string
  stream: boolean
  upstream?: string | undefined
  upstreamModel?: string | undefined
  upstreamFormat?: UpstreamFormat | undefined
  lane?: 'wire' | 'translate' | undefined
  losses: readonly Loss[]
  usage?: Usage | undefined
  units?: BillableUnits | undefined
  estimate?: EstimatedBy | undefined
  firstEventAt?: number | undefined
  readonly attempts: Attempt[]
  /** Targets that could not be given the request. */
  skipped?: SkippedTarget[] | undefined
  finish?: string | undefined
  /** How it is counted in tokens, where it is. */
  tokenCounting?: TokenCounting | undefined
  /** Use that the request makes known beforehand, for operations beside chat. */
  expected?: ExpectedUse | undefined
  /** The request, for an estimate of what it took. */
  body?: JsonObject | undefined
  /** About how many tokens the request is, where its body is not here. */
  estimatedInputTokens?: number | undefined
  /** About how many tokens the answer has said. */
  estimateOutput?: (() => number) | undefined
  /** Admissions of the plugins that accepted the call. Each is settled when the call ends. */
  admissions?: Admission[] | undefined
  /** The upstream goes on with it when the response to this call is over. */
  background?: true | undefined
  /** The books are closed. */
  settled?: boolean | undefined
  /** Plugins have heard of it: they must hear of its end. */
  pluginsNotified?: boolean | undefined
  /** The gateway has used all its attempts: a retry by the client would only add to the upstream's load. */
  attemptsExhausted?: boolean | undefined
}

/** The books of a call that has just come. All that may be written in them stands there from the beginning: one shape for all calls. */
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
  background: undefined,
  settled: undefined,
  pluginsNotified: undefined,
  attemptsExhausted: undefined,
})

export interface CallEnding {
  readonly status: number
  readonly outcome: FinishEvent['outcome']
  readonly error?: unknown
}

/** Tells every plugin, once for a call: first those that let it in, then all. An exception is logged, never thrown. */
export function settle(record: CallRecord, ending: CallEnding, plugins: readonly Plugin[], logger: Logger): void {
  if (record.settled === true) return
  record.settled = true
  // Field by field: a rest pattern and spreads cost as much here as validating the request.
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
  const taken = finalUsage(record, ending.outcome)
  put(event, 'usage', taken?.usage)
  put(event, 'basis', taken?.basis)
  put(event, 'units', billedUnits(record))
  put(event, 'estimate', record.estimate)
  if (isAbandoned(record)) event.abandoned = true
  put(event, 'error', ending.error)
  if (record.firstEventAt !== undefined) event.firstEventMs = record.firstEventAt - record.startedAt
  for (const plugin of plugins) {
    if (plugin.costOf === undefined) continue
    const cost = observedValue(logger, 'costOf', () => checkedCost(plugin.costOf?.(event)), plugin)
    if (cost === undefined) continue
    event.cost = cost
    break
  }
  if (record.admissions !== undefined)
    for (const admission of record.admissions)
      if (admission.settle !== undefined) observe(logger, 'settling a call', () => admission.settle?.(event))
  for (const plugin of plugins)
    if (plugin.onFinish !== undefined) observe(logger, 'onFinish', () => plugin.onFinish?.(event), plugin)
}

/** Budgets are counted by it. Throws a TypeError for what is no amount of money. */
function checkedCost(cost: Cost | undefined | null): Cost | undefined {
  // A promise is for `observedValue` to see.
  if (cost === undefined || cost === null || isThenable(cost)) return cost ?? undefined
  const { amount, currency } = cost
  if (
    typeof amount !== 'number' ||
    !(amount >= 0) ||
    amount === Number.POSITIVE_INFINITY ||
    typeof currency !== 'string'
  )
    throw new TypeError(
      "it returned no cost: return { amount: 0.25, currency: 'USD' }, or undefined where it is unknown",
    )
  return cost
}

/** What a call took of a model, and where the counts come from; undefined: no model was at work, or nothing is counted in tokens. */
export function finalUsage(
  record: CallRecord,
  outcome: FinishEvent['outcome'],
): { readonly usage: Usage; readonly basis: UsageBasis } | undefined {
  const { usage, tokenCounting: counted, firstEventAt, finish } = record
  if (usage !== undefined && (outcome === 'finished' || finish !== undefined || counted === undefined))
    return { usage, basis: 'reported' }
  if (counted === undefined) return undefined
  // Tokens that the upstream sends later are not counted here, nor is a session that reported no usage.
  if (finish !== undefined && wireCodecOf(record.format).pendingFinishes?.includes(finish)) return undefined
  if (record.background === true && outcome !== 'finished') return undefined
  if (usage === undefined && firstEventAt !== undefined && record.estimateOutput === undefined) return undefined
  // Nothing came back, but an upstream that was left alone with the request is likely to have read it.
  if (firstEventAt === undefined && usage === undefined)
    return isAbandoned(record) ? { usage: estimated(record, 0), basis: 'partial' } : undefined
  const said = record.estimateOutput?.() ?? 0
  if (usage === undefined)
    return { usage: estimated(record, said), basis: outcome === 'finished' ? 'estimated' : 'partial' }
  // Counts that come while an answer is written are behind it.
  const { raw: _stale, ...known } = usage
  const output = { ...known.output, total: Math.max(known.output.total, said) }
  const input = known.input.total > 0 ? known.input : { total: inputOf(record) }
  return { usage: { ...known, input, output }, basis: 'partial' }
}

const estimated = (record: CallRecord, said: number): Usage => ({
  input: { total: inputOf(record) },
  output: { total: said },
})

const inputOf = ({ body, estimatedInputTokens: tokens = 0 }: CallRecord): number =>
  body === undefined ? tokens : estimateBody(body)

/** No answer came, but an upstream had the request. */
export const isAbandoned = ({ firstEventAt, attempts }: CallRecord): boolean =>
  firstEventAt === undefined &&
  attempts.some(({ error }) => error !== undefined && errorKinds[error].mayBeBilled === true)

/** What was counted beside tokens: by the operation itself, or within the usage. */
export function billedUnits({ units, usage }: CallRecord): BillableUnits | undefined {
  const { raw } = usage ?? {}
  const beside = raw === undefined ? undefined : wireCodecOf(raw.format).billableUnits?.(raw.value)
  return beside === undefined ? units : { ...units, ...beside }
}
