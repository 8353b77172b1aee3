import { type AttemptFailure, type AttemptResult, attempt } from './attempt.ts'
import type { Limits, Logger, OnLoss, Plugin } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import type { Inbound } from './inbound.ts'
import type { Lane } from './lanes/lane.ts'
import { askedPolicy, policyFor, refusal } from './loss-policy.ts'
import type { Spool } from './operations/multipart/spool.ts'
import type { ResolvedTarget, Router } from './router.ts'
import type { Ledger } from './settle.ts'
import type { Signal } from './signal.ts'
import type { Transport } from './transport.ts'
import { worthAnotherTarget } from './upstream-error.ts'

/** What one gateway's calls share. */
export interface Shared {
  readonly router: Router
  readonly onLoss: OnLoss
  readonly plugins: readonly Plugin[]
  readonly limits: Required<Limits>
  readonly logger: Logger
  /** In place of what the adapter brings. */
  readonly openSpool?: (() => Spool) | undefined
}

/** One call to a model, whatever the operation. */
export interface TargetCall {
  readonly shared: Shared
  readonly inbound: Inbound
  readonly ledger: Ledger
  readonly transport: Transport
  readonly signal: Signal
}

/** A request made ready for one target. */
export interface Prepared {
  readonly lane: Omit<Lane, 'upstreamFormat'> & Partial<Pick<Lane, 'upstreamFormat'>>
  readonly url: string
  /** Reads the upstream's errors. */
  readonly codec: Codec
}

/** What answered, and under which policy for losses. */
export interface Answered<P extends Prepared> {
  readonly prepared: P
  readonly policy: OnLoss
  readonly result: AttemptResult
}

/**
 * Tries the model's targets in their order until one answers. Throws the GatewayError that says most: the last attempt's,
 * or why no target could be called at all.
 */
export async function tryTargets<P extends Prepared>(
  { shared, inbound, ledger, transport, signal }: TargetCall,
  prepare: (target: ResolvedTarget, policy: OnLoss) => P | Promise<P>,
): Promise<Answered<P>> {
  const { limits } = shared
  const asked = askedPolicy(inbound)
  const targets = shared.router.plan(ledger.model, ledger.identity)
  // One hold for all targets: the client's patience does not begin anew with each.
  const holdUntil = Date.now() + limits.holdMs
  let failure: GatewayError | undefined
  for (const target of targets) {
    let policy: OnLoss
    let prepared: P
    try {
      policy = policyFor(asked, target.onLoss ?? shared.onLoss, ledger.identity)
      const made = prepare(target, policy)
      // Not awaited needlessly: most bodies are in memory already.
      prepared = made instanceof Promise ? await made : made
    } catch (error) {
      // A request that cannot be written for this target; another target's may.
      failure ??= untranslatable(error)
      continue
    }
    const { lane, url, codec } = prepared
    ledger.upstream = target.upstreamName
    ledger.upstreamModel = target.model
    if (lane.upstreamFormat !== undefined) ledger.upstreamFormat = lane.upstreamFormat
    ledger.lane = lane.kind
    ledger.losses = lane.report.losses
    const refused = refusal(lane.report.losses, policy)
    if (refused !== undefined) {
      failure ??= refused
      continue
    }
    const result = await attempt({
      target,
      lane,
      url,
      codec,
      stream: ledger.stream,
      header: (name) => inbound.header(name),
      transport,
      signal,
      firstByteMs: limits.firstByteMs,
      holdMs: Math.max(0, holdUntil - Date.now()),
      idleMs: limits.idleMs,
      answerBytes: limits.answerBytes,
    })
    ledger.attempts.push(result.log)
    if (!('error' in result)) return { prepared, policy, result }
    failure = inClientTerms((result as AttemptFailure).error, lane)
    if (!worthAnotherTarget(failure)) break
  }
  throw failure ?? new GatewayError('model_not_found', `The model '${ledger.model}' has no upstream.`)
}

/** An upstream names fields as it was sent them, which may not be as the client wrote them. */
function inClientTerms(error: GatewayError, { paramOf }: Prepared['lane']): GatewayError {
  const { kind, message, param, raw: _raw, ...details } = error.info
  if (paramOf === undefined || param === undefined) return error
  const own = paramOf(param)
  if (own === param) return error
  return new GatewayError(kind, message, {
    ...details,
    ...(own === undefined ? {} : { param: own }),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  })
}

/** A codec's own failure is nobody's business but ours. */
export const untranslatable = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError('internal', 'The request could not be translated.', { cause: error })
