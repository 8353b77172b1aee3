import { headersTo } from './attempt.ts'
import type { Identity, OnLoss } from './config.ts'
import type { Codec } from './formats/codec.ts'
import type { ErrorInfo, Format, Json, Loss } from './formats/ir.ts'
import { urlOf } from './generate.ts'
import type { Inbound } from './inbound.ts'
import { chooseLane } from './lanes/choose.ts'
import type { RequestBody } from './lanes/wire.ts'
import { askedPolicy, policyFor, refusal } from './loss-policy.ts'
import type { ResolvedTarget } from './router.ts'
import { type Shared, untranslatable } from './targets.ts'
import { maskHeaders, redact } from './upstream-error.ts'

/** What a call would do, found out without calling anyone. */
export interface Explanation {
  readonly format: Format
  /** The model as the client named it. */
  readonly model: string
  readonly stream: boolean
  /** The targets in the order in which they would be tried. */
  readonly plan: readonly ExplainedTarget[]
}

export interface ExplainedTarget {
  readonly upstream: string
  readonly model: string
  readonly onLoss: OnLoss
  /** The request as it would be sent, secrets masked; absent where it cannot be written at all. */
  readonly request?: ExplainedRequest
  /** `wire`: the client's own bytes; `translate`: written anew in `format`. */
  readonly lane?: 'wire' | 'translate'
  readonly format?: Format
  /** What would not arrive, or not as it was written. */
  readonly losses: readonly Loss[]
  /** Why this target would not be called. */
  readonly refused?: Pick<ErrorInfo, 'kind' | 'status' | 'message' | 'param'>
}

export interface ExplainedRequest {
  readonly method: 'POST'
  /** Below the upstream's own address, which is not shown. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json
}

export interface ExplainCall {
  readonly shared: Shared
  readonly inbound: Inbound
  readonly codec: Codec
  readonly request: RequestBody
  readonly model: string
  readonly stream: boolean
  readonly identity: Identity | null
}

/** Throws what the call itself would be refused with before any target is chosen: an unknown model, a policy not allowed. */
export function explain(call: ExplainCall): Explanation {
  const { shared, codec, model, stream, identity, inbound } = call
  const asked = askedPolicy(inbound)
  const plan = shared.router
    .plan(model, identity)
    .map((target) => explainTarget(call, target, policyFor(asked, target.onLoss ?? shared.onLoss, identity)))
  return { format: codec.format, model, stream, plan }
}

function explainTarget(
  { shared, codec, request, stream, inbound }: ExplainCall,
  target: ResolvedTarget,
  onLoss: OnLoss,
) {
  const { upstream, upstreamName, model } = target
  const known = { upstream: upstreamName, model, onLoss }
  try {
    const lane = chooseLane({ codec, request, target, limits: shared.limits, tellLosses: onLoss !== 'ignore' })
    // Generation sends no uploads.
    const text = typeof lane.body === 'string' ? lane.body : new TextDecoder().decode(lane.body as Uint8Array)
    const { losses } = lane.report
    const refused = refusal(losses, onLoss)
    return {
      ...known,
      lane: lane.kind,
      format: lane.upstreamFormat,
      request: {
        method: 'POST' as const,
        path: urlOf(target, lane, stream).slice(upstream.baseURL.length),
        headers: maskHeaders(
          headersTo(upstream, stream, (name) => inbound.header(name)),
          upstream,
        ),
        body: JSON.parse(redact(text, upstream)) as Json,
      },
      losses,
      ...(refused === undefined ? {} : { refused: shown(refused.info) }),
    }
  } catch (error) {
    return { ...known, losses: [], refused: shown(untranslatable(error).info) }
  }
}

const shown = ({ kind, status, message, param }: ErrorInfo): NonNullable<ExplainedTarget['refused']> => ({
  kind,
  status,
  message,
  ...(param === undefined ? {} : { param }),
})
