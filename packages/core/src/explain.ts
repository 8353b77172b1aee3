import { affinityFor, continuesState, strategyFor } from './affinity.ts'
import { arrange } from './arrange.ts'
import { headersTo } from './call-headers.ts'
import type { Identity, OnLoss } from './config.ts'
import { GatewayError } from './errors.ts'
import type { WireCodec } from './formats/codec.ts'
import type { ErrorInfo, Format, Json, JsonObject, Loss, UpstreamFormat } from './formats/ir.ts'
import { wholeOf } from './formats/load-codec.ts'
import { isObject } from './formats/shared/reader.ts'
import { generation } from './generate.ts'
import type { Inbound } from './inbound.ts'
import { chooseLane } from './lanes/choose.ts'
import type { RequestBody } from './lanes/wire.ts'
import { askedPolicy, policyFor, refusal } from './loss-policy.ts'
import { checkNamedModels } from './named-models.ts'
import { dressed, untranslatable } from './prepare.ts'
import { maskHeaders, redact } from './redact.ts'
import { redactorOf } from './redaction/redactor.ts'
import type { ResolvedTarget } from './router.ts'
import type { Ledger } from './settle.ts'
import type { Prepared, Shared } from './targets.ts'
import { isMeant, traitsOf } from './traits.ts'

/** What a call would do, found out without calling anyone. */
export interface Explanation {
  readonly format: Format
  /** The model as the client named it. */
  readonly model: string
  readonly stream: boolean
  /** The targets in the order in which they would be tried. */
  readonly plan: readonly ExplainedTarget[]
}

/** A target in the order in which it would be tried, with the request that it would be sent. */
export interface ExplainedTarget {
  readonly upstream: string
  readonly model: string
  readonly onLoss: OnLoss
  /** Set where it would be passed over for others just now, or left alone. */
  readonly resting?: 'doubtful' | 'limited' | 'failing'
  /** The request as it would be sent, secrets masked; absent where it cannot be written at all. */
  readonly request?: ExplainedRequest
  /** `wire`: the client's own bytes; `translate`: written anew in `format`. */
  readonly lane?: 'wire' | 'translate'
  readonly format?: UpstreamFormat
  /** What would not arrive, or not as it was written. */
  readonly losses: readonly Loss[]
  /** Why this target would not be called. */
  readonly refused?: Pick<ErrorInfo, 'kind' | 'status' | 'message' | 'param'>
}

/** A request as an upstream would be sent it, with secrets masked. */
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
  readonly codec: WireCodec
  readonly request: RequestBody
  readonly model: string
  readonly stream: boolean
  readonly identity: Identity | null
  /** Hides the values that the configuration puts into a body (`defaults`, `overrides`): they are the operator's. */
  readonly hidesConfigured?: boolean
}

/** Throws what the call itself would be refused with before any target is chosen: an unknown model, a policy not allowed. */
export async function explain(call: ExplainCall): Promise<Explanation> {
  const { shared, codec, model, stream, identity, inbound, request } = call
  const asked = askedPolicy(inbound)
  const plan = shared.router.plan(model, identity)
  checkNamedModels({ request, modelPlaces: codec.modelPlaces }, shared.router, identity)
  const traits = traitsOf({ codec: await wholeOf(codec), request, inbound, ledger: ledgerOf(call) })
  const meant = (target: ResolvedTarget): boolean => isMeant(target, () => traits, shared.logger)
  const { latencies } = shared.health
  const continues = continuesState(codec, request.value)
  const strategy = strategyFor(plan.strategy, continues)
  const affinity = affinityFor(codec, strategy, continues, request.value, identity, inbound)
  const by = { latencies: { expect: latencies.look, look: latencies.look }, stream, affinity }
  const explained: ExplainedTarget[] = []
  for (const group of arrange(plan.targets.filter(meant), strategy, by)) {
    const told: ExplainedTarget[] = []
    for (const target of group)
      told.push(await explainTarget(call, target, policyFor(asked, target.onLoss ?? shared.onLoss, identity)))
    explained.push(...(plan.preferLossless ? [...told.filter(isWhole), ...told.filter((one) => !isWhole(one))] : told))
  }
  const others = plan.targets
    .filter((target) => !meant(target))
    .map((target) => ({
      upstream: target.upstreamName,
      model: target.model,
      onLoss: target.onLoss ?? shared.onLoss,
      losses: [],
      refused: shown(notMeant().info),
    }))
  return { format: codec.format, model, stream, plan: [...explained, ...others] }
}

const isWhole = ({ losses, refused }: ExplainedTarget): boolean =>
  refused === undefined && losses.every(({ severity }) => severity === 'note')

const notMeant = (): GatewayError =>
  new GatewayError('invalid_request', "Such requests are not meant for this target (its 'when').")

/** Nothing is called, so nothing is booked: only what targets are chosen by. */
const ledgerOf = ({ codec, model, stream, identity }: ExplainCall): Ledger => ({
  requestId: '',
  operation: 'generate',
  format: codec.format,
  startedAt: 0,
  arrivedAt: 0,
  identity,
  model,
  stream,
  losses: [],
  attempts: [],
})

async function explainTarget(call: ExplainCall, target: ResolvedTarget, onLoss: OnLoss): Promise<ExplainedTarget> {
  const { shared, codec, request, stream, inbound } = call
  const { upstream, upstreamName, model } = target
  const { state } = shared.health.standing(target, call.identity)
  const known = { upstream: upstreamName, model, onLoss, ...(state === 'ready' ? {} : { resting: state }) }
  try {
    const { limits, references } = shared
    const chosen = await chooseLane({ codec, request, target, limits, references, tellLosses: onLoss !== 'ignore' })
    const prepared = generation(chosen, target, stream)
    const { lane, url } = dressed(target, prepared, { inbound, ledger: ledgerOf(call) })
    const body = JSON.parse(redactorOf(upstream).json(textOf(lane.body))) as Json
    const { losses } = lane.report
    const refused = refusal(losses, onLoss)
    return {
      ...known,
      lane: lane.kind,
      format: lane.upstreamFormat,
      request: {
        method: 'POST' as const,
        path: redact(url.slice(upstream.baseURL.length), upstream),
        headers: maskHeaders(
          headersTo(upstream, undefined, stream, (name) => inbound.header(name)),
          upstream,
        ),
        body: call.hidesConfigured === true ? withoutConfigured(body, textOf(prepared.lane.body), target) : body,
      },
      losses,
      ...(refused === undefined ? {} : { refused: shown(refused.info) }),
    }
  } catch (error) {
    return { ...known, losses: [], refused: shown(untranslatable(error).info) }
  }
}

/** A generation's body: it has no uploads. */
const textOf = (body: Prepared['lane']['body']): string =>
  typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array)

const hiddenValue = '(set by the configuration)'

/** The body with a placeholder for every top-level field that `defaults` or `overrides` added or changed. */
function withoutConfigured(body: Json, before: string, { defaults, overrides }: ResolvedTarget): Json {
  const fields = Object.keys({ ...defaults, ...overrides })
  if (fields.length === 0 || !isObject(body)) return body
  const own = JSON.parse(before) as JsonObject
  const changed = fields.filter(
    (field) => Object.hasOwn(body, field) && JSON.stringify(body[field]) !== JSON.stringify(own[field]),
  )
  return { ...body, ...Object.fromEntries(changed.map((field) => [field, hiddenValue])) }
}

const shown = ({ kind, status, message, param }: ErrorInfo): NonNullable<ExplainedTarget['refused']> => ({
  kind,
  status,
  message,
  ...(param === undefined ? {} : { param }),
})
