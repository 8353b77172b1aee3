import { GatewayError } from '../base/errors.ts'
import { askedPolicy, policyFor, refusal } from '../routing/loss-policy.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { editRequestBody } from '../upstreams/request-body-edits.ts'
import type { Prepare, Prepared, TargetCall } from './call.ts'
import type { Candidate } from './candidate.ts'

/** Makes the request ready for a target, once; undefined where that target cannot be given it. */
export interface Preparer<P extends Prepared> {
  (candidate: Candidate<P>): P | undefined | Promise<P | undefined>
  /** Why the first of those that could not be prepared could not. */
  failure: GatewayError | undefined
}

export function createPreparer<P extends Prepared>(call: TargetCall, prepare: Prepare<P>): Preparer<P> {
  const { shared, inbound, record } = call
  const asked = askedPolicy(inbound)
  const skip = (candidate: Candidate<P>, error: GatewayError): undefined => {
    const { upstreamName: upstream, model } = candidate.target
    const { message: reason, param } = error.info
    preparer.failure ??= error
    candidate.out = true
    // An upstream without the endpoint is none of the operation's targets.
    if (error.info.kind === 'not_implemented') return undefined
    record.skipped ??= []
    record.skipped.push({ upstream, model, reason, ...(param === undefined ? {} : { param }) })
    return undefined
  }
  const give = (candidate: Candidate<P>, made: P): P | undefined => {
    const prepared = withTargetOverrides(candidate.target, made, call)
    const { losses } = prepared.lane.report
    const refused = refusal(losses, candidate.policy)
    if (refused !== undefined) {
      // The books tell what would have been lost, if nobody takes the call.
      if (record.attempts.length === 0) record.losses = losses
      return skip(candidate, refused)
    }
    candidate.prepared = prepared
    candidate.lossless = losses.every(({ severity }) => severity === 'note')
    return prepared
  }
  // A request that cannot be written for this target; another target's may.
  const giveUp = (candidate: Candidate<P>, error: unknown): undefined => skip(candidate, toEncodeError(error))
  const preparer: Preparer<P> = (candidate) => {
    if (candidate.prepared !== undefined) return candidate.prepared
    const { target } = candidate
    try {
      candidate.policy = policyFor(asked, target.onLoss ?? shared.onLoss, record.identity)
      const made = prepare(target, candidate.policy)
      // Not awaited needlessly: most bodies are in memory already.
      if (!(made instanceof Promise)) return give(candidate, made)
      return made.then((late) => give(candidate, late)).catch((error: unknown) => giveUp(candidate, error))
    } catch (error) {
      return giveUp(candidate, error)
    }
  }
  // Not defined as a getter: a function with a getter of its own has a hidden class of its own, and V8 keeps it, with all that
  // the getter sees, until the next full collection.
  preparer.failure = undefined
  return preparer
}

/** With what the target's configuration and its host want of the body. Uploads go as they are. */
export function withTargetOverrides<P extends Prepared>(
  target: ResolvedTarget,
  prepared: P,
  { inbound, record }: Pick<TargetCall, 'inbound' | 'record'>,
): P {
  const { lane, hosting, asIs } = prepared
  const { body, report } = lane
  if (target.defaults === undefined && target.overrides === undefined && hosting?.edit === undefined) return prepared
  if (asIs === true || !(typeof body === 'string' || body instanceof Uint8Array)) return prepared
  const own = editRequestBody(body, target, hosting, {
    model: target.model,
    stream: record.stream,
    header: (name) => inbound.header(name),
    replaced: (field) =>
      report.add({
        path: `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        kind: 'approximated',
        severity: 'note',
        detail: `${field} is set by the configuration of the model's target`,
      }),
  })
  return own === body ? prepared : { ...prepared, lane: { ...lane, body: own } }
}

/** A codec's own failure is nobody's business but ours. */
export const toEncodeError = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError('internal', 'The request could not be translated.', { cause: error })
