import { GatewayError } from '../base/errors.ts'
import type { OnLoss } from '../config/identity.ts'
import type { TargetRequest } from '../lanes/lane.ts'
import { effectiveLossPolicy, lossError } from '../routing/loss-policy.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { editRequestBody } from '../upstreams/request-body-edits.ts'
import type { Candidate, PreparingCall } from './call.ts'

/**
 * Prepares a call's request for one target, once: the policy for losses, then the lane and the URL (by the call's writer), then the
 * target's `defaults` and `overrides`, then the check of the losses. Generation, model operations, token counts, realtime sessions and
 * explanations all prepare here.
 *
 * Returns undefined where the target cannot be sent the request: the candidate is then out, with the reason. Returns a promise only where
 * the request takes its time (an upload, code that is loaded). Never throws.
 *
 * @param requestedPolicy of the client's header
 */
export function prepareTarget(
  call: PreparingCall,
  candidate: Candidate,
  requestedPolicy: OnLoss | undefined,
): TargetRequest | undefined | Promise<TargetRequest | undefined> {
  if (candidate.request !== undefined) return candidate.isOut ? undefined : candidate.request
  const { target } = candidate
  try {
    const configured = target.onLoss ?? call.shared.onLoss
    candidate.policy =
      requestedPolicy === undefined
        ? configured
        : effectiveLossPolicy(requestedPolicy, configured, call.record.identity)
    const written = call.writer.write(target, candidate.policy)
    if (!(written instanceof Promise)) return accept(call, candidate, written)
    return written
      .then((request) => accept(call, candidate, request))
      .catch((error: unknown) => skip(call, candidate, toEncodeError(error)))
  } catch (error) {
    return skip(call, candidate, toEncodeError(error))
  }
}

function accept(call: PreparingCall, candidate: Candidate, written: TargetRequest): TargetRequest | undefined {
  const { record } = call
  const request = withOverrides(call, candidate.target, written)
  candidate.request = request
  const { losses } = request.lane.report
  const refused = losses.length === 0 ? undefined : lossError(losses, candidate.policy)
  if (refused !== undefined) {
    // Shows in the call record what would have been lost, if no target responds.
    if (record.attempts.length === 0) record.losses = losses
    return skip(call, candidate, refused)
  }
  candidate.isLossless = losses.every(({ severity }) => severity === 'note')
  return request
}

/** Takes a target out of the search. */
function skip({ record }: PreparingCall, candidate: Candidate, error: GatewayError): undefined {
  const { upstreamName: upstream, model } = candidate.target
  const { kind, message: reason, param } = error.info
  candidate.refusal = error
  candidate.isOut = true
  // An upstream without the endpoint is none of the operation's targets.
  if (kind === 'not_implemented') return undefined
  record.skipped ??= []
  record.skipped.push({ upstream, model, reason, ...(param === undefined ? {} : { param }) })
  return undefined
}

/** Applies the target's `defaults` and `overrides` and its host's edit to a JSON body. Uploads pass unchanged. */
function withOverrides(call: PreparingCall, target: ResolvedTarget, request: TargetRequest): TargetRequest {
  const { lane, hosting } = request
  const { defaults, overrides } = request.ignoresOverrides === true ? noOverrides : target
  if (defaults === undefined && overrides === undefined && hosting?.edit === undefined) return request
  const { body, report } = lane
  if (!(typeof body === 'string' || body instanceof Uint8Array)) return request
  const edited = editRequestBody(body, { defaults, overrides }, hosting, {
    model: target.model,
    stream: call.record.stream,
    header: (name) => call.inbound.header(name),
    replaced: (field) =>
      report.add({
        path: `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        kind: 'approximated',
        severity: 'note',
        detail: `${field} is set by the configuration of the model's target`,
      }),
  })
  return edited === body ? request : { ...request, lane: { ...lane, body: edited }, clientBody: body }
}

const noOverrides: Pick<ResolvedTarget, 'defaults' | 'overrides'> = {}

/** Codec exceptions become internal errors. */
const toEncodeError = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError('internal', 'The request could not be translated.', { cause: error })
