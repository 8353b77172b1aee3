import { type CallRejected, type FailureCause, type FinishEvent, GatewayError } from '@modelgate/core'

/** A call that has ended, without content and credentials. Every text and list in it is bounded. */
export interface RecentCall {
  readonly requestId: string
  /** Arrival in milliseconds since 1970. */
  readonly startedAt: number
  /** `'rejected'`: the call ended before its model was known. */
  readonly outcome: FinishEvent['outcome'] | 'rejected'
  readonly status: number
  readonly caller: { readonly id: string; readonly name: string | undefined } | undefined
  /** Method and path of rejected calls. */
  readonly method: string | undefined
  readonly path: string | undefined
  readonly operation: FinishEvent['operation'] | undefined
  readonly format: FinishEvent['format'] | undefined
  /** Model name of the client. */
  readonly model: string | undefined
  readonly stream: boolean
  readonly upstream: string | undefined
  readonly upstreamModel: string | undefined
  readonly upstreamFormat: FinishEvent['upstreamFormat']
  readonly lane: FinishEvent['lane']
  readonly durationMs: number
  readonly firstEventMs: number | undefined
  readonly finish: string | undefined
  readonly usage: RecentUsage | undefined
  readonly basis: FinishEvent['basis']
  readonly units: FinishEvent['units']
  readonly cost: FinishEvent['cost']
  readonly error: RecentError | undefined
  /** Number of all attempts; `attempts` contains the first ones. */
  readonly attemptCount: number
  readonly attempts: readonly RecentAttempt[]
  /** Number of all losses; `losses` contains the first ones. */
  readonly lossCount: number
  readonly losses: readonly RecentLoss[]
  readonly skipped: readonly RecentSkip[]
}

/** A call in lists and in the live stream. */
export type CallSummary = Omit<RecentCall, 'attempts' | 'losses' | 'skipped'>

/** Token counts of a recent call. */
export interface RecentUsage {
  readonly input: number
  readonly output: number
  readonly cached: number | undefined
  readonly reasoning: number | undefined
}

/** Error that ended a recent call. */
export interface RecentError {
  readonly kind: string | undefined
  /** Message of the gateway. Messages of upstreams can repeat content and are left out. */
  readonly message: string | undefined
}

/** One upstream call of a recent call. */
export interface RecentAttempt {
  readonly upstream: string
  readonly model: string
  readonly key: number | undefined
  readonly reason: FinishEvent['attempts'][number]['reason']
  readonly startedMs: number
  readonly waitedMs: number | undefined
  readonly status: number | undefined
  readonly latencyMs: number | undefined
  readonly cooldownMs: number | undefined
  readonly upstreamRequestId: string | undefined
  readonly error: FinishEvent['attempts'][number]['error']
  readonly cause: FailureCause | undefined
  readonly resent: true | undefined
}

/** One loss of a recent call. */
export type RecentLoss = Pick<FinishEvent['losses'][number], 'path' | 'kind' | 'severity' | 'detail'> & {
  readonly side: 'answer' | undefined
}

/** A target that a recent call did not use, because it cannot accept the request. */
export interface RecentSkip {
  readonly upstream: string
  readonly model: string
  readonly reason: string
  readonly param: string | undefined
}

/** Limits in characters. */
const nameLength = 128
const sentenceLength = 240

const maxAttempts = 16
const maxLosses = 24
const maxSkipped = 8

/** A shortened text is copied: a slice would keep the whole text in memory. */
const bounded = (text: string, most: number): string =>
  text.length <= most ? text : `${[...text.slice(0, most - 1)].join('')}…`
const name = (text: string): string => bounded(text, nameLength)
const sentence = (text: string): string => bounded(text, sentenceLength)
const optionalName = (text: string | undefined): string | undefined => (text === undefined ? undefined : name(text))

const none: readonly never[] = []

/** Lists are rarely longer than their limit, and mostly empty: neither case copies more than it keeps. */
function firstOf<T, R>(items: readonly T[], most: number, keep: (item: T) => R): readonly R[] {
  if (items.length === 0) return none
  return (items.length <= most ? items : items.slice(0, most)).map(keep)
}

/** Copies what is kept of a finished call. All fields are set, so that all calls have one hidden class. */
export function recentCallOf(event: FinishEvent): RecentCall {
  const { usage, cost, attempts, losses, skipped } = event
  return {
    requestId: name(event.requestId),
    startedAt: event.startedAt,
    outcome: event.outcome,
    status: event.status,
    caller: callerOf(event.identity),
    method: undefined,
    path: undefined,
    operation: event.operation,
    format: event.format,
    model: name(event.model),
    stream: event.stream,
    upstream: optionalName(event.upstream),
    upstreamModel: optionalName(event.upstreamModel),
    upstreamFormat: event.upstreamFormat,
    lane: event.lane,
    durationMs: event.durationMs,
    firstEventMs: event.firstEventMs,
    finish: optionalName(event.finish),
    usage:
      usage === undefined
        ? undefined
        : {
            input: usage.input.total,
            output: usage.output.total,
            cached: usage.input.cacheRead,
            reasoning: usage.output.reasoning,
          },
    basis: event.basis,
    units: event.units,
    cost: cost === undefined ? undefined : { amount: cost.amount, currency: name(cost.currency) },
    error: event.error === undefined ? undefined : errorOf(event.error),
    attemptCount: attempts.length,
    attempts: firstOf(attempts, maxAttempts, attemptOf),
    lossCount: losses.length,
    losses: firstOf(losses, maxLosses, lossOf),
    skipped: firstOf(skipped ?? none, maxSkipped, skipOf),
  }
}

/** Copies what is kept of a call that was rejected before its model was known. */
export function rejectedCallOf(notice: CallRejected): RecentCall {
  return {
    requestId: name(notice.requestId),
    startedAt: Date.now() - notice.durationMs,
    outcome: 'rejected',
    status: notice.status,
    caller: callerOf(notice.identity),
    method: name(notice.method),
    path: sentence(notice.path),
    operation: notice.operation,
    format: undefined,
    model: undefined,
    stream: false,
    upstream: undefined,
    upstreamModel: undefined,
    upstreamFormat: undefined,
    lane: undefined,
    durationMs: notice.durationMs,
    firstEventMs: undefined,
    finish: undefined,
    usage: undefined,
    basis: undefined,
    units: undefined,
    cost: undefined,
    error: { kind: notice.error, message: sentence(notice.message) },
    attemptCount: 0,
    attempts: none,
    lossCount: 0,
    losses: none,
    skipped: none,
  }
}

export const summaryOf = ({ attempts: _, losses: __, skipped: ___, ...summary }: RecentCall): CallSummary => summary

function callerOf(identity: FinishEvent['identity']): RecentCall['caller'] {
  if (identity === null) return undefined
  const own = identity.name
  return { id: name(identity.id), name: typeof own === 'string' ? name(own) : undefined }
}

function errorOf(error: unknown): RecentError {
  if (!(error instanceof GatewayError)) return { kind: undefined, message: undefined }
  const { kind, message, raw } = error.info
  const isOurs = raw === undefined && error.hints?.status === undefined
  return { kind, message: isOurs ? sentence(message) : undefined }
}

const attemptOf = (attempt: FinishEvent['attempts'][number]): RecentAttempt => ({
  upstream: name(attempt.upstream),
  model: name(attempt.model),
  key: attempt.key,
  reason: attempt.reason,
  startedMs: attempt.startedMs,
  waitedMs: attempt.waitedMs,
  status: attempt.status,
  latencyMs: attempt.latencyMs,
  cooldownMs: attempt.cooldownMs,
  upstreamRequestId: optionalName(attempt.upstreamRequestId),
  error: attempt.error,
  cause: attempt.cause === undefined ? undefined : causeOf(attempt.cause),
  resent: attempt.resent,
})

const causeOf = ({ code, address }: FailureCause): FailureCause => ({
  ...(code === undefined ? {} : { code: name(code) }),
  ...(address === undefined ? {} : { address: name(address) }),
})

const lossOf = ({ path, side, kind, severity, detail }: FinishEvent['losses'][number]): RecentLoss => ({
  path: sentence(path),
  side,
  kind,
  severity,
  detail: sentence(detail),
})

const skipOf = ({ upstream, model, reason, param }: NonNullable<FinishEvent['skipped']>[number]): RecentSkip => ({
  upstream: name(upstream),
  model: name(model),
  reason: sentence(reason),
  param: param === undefined ? undefined : sentence(param),
})
