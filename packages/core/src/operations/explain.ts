import { createCallRecord } from '../accounting/call-record.ts'
import { type ErrorInfo, GatewayError } from '../base/errors.ts'
import { isObject } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { GatewayContext, Prepare, Prepared, SelectingCall } from '../calls/call.ts'
import { toEncodeError, withTargetOverrides } from '../calls/prepare-target.ts'
import { orderTargets, planFor, selectTargets } from '../calls/select-targets.ts'
import type { ExplainedTarget, Explanation } from '../config/explanation.ts'
import type { OnLoss } from '../config/identity.ts'
import type { WireCodec } from '../formats/codec.ts'
import { loadFullCodec } from '../formats/codec-registry.ts'
import { fieldsOf, type RequestBody } from '../formats/request-body.ts'
import { askedPolicy, policyFor, refusal } from '../routing/loss-policy.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { addFlags, requestHeaders } from '../upstreams/outgoing-call.ts'
import { maskHeaders, redact, redactorOf } from '../upstreams/redaction/redactor.ts'
import { type PreparedGeneration, preparerOf } from './generate.ts'
import type { RoutedCall } from './handler.ts'

/** A chat request to explain, with a call record of its own that is never settled. */
interface ExplainedCall extends SelectingCall {
  readonly codec: WireCodec
  readonly shared: GatewayContext
}

/**
 * Explains a chat request without calling an upstream. Rejects with the error that the call would be refused with before any target is
 * tried: an unknown model, a policy that is not allowed.
 *
 * @param hidesConfigured replaces the values that the configuration puts into a body (`defaults`, `overrides`): they are the operator's
 */
export async function explain(
  { setup, shared, route, codec, inbound, record: { requestId, identity } }: RoutedCall,
  received: RequestBody,
  hidesConfigured: boolean,
): Promise<Explanation> {
  const { model, stream } = fieldsOf(received)
  const record = createCallRecord(requestId, route.operation, codec.format)
  record.identity = identity
  record.model = String(model)
  record.stream = stream === true
  const request = await setup.resolveReferences(route, received, identity)
  const call: ExplainedCall = { shared, inbound, codec, request, modelPlaces: codec.modelPlaces, record }
  const asked = askedPolicy(inbound)
  const plan = planFor(call)
  const selection = selectTargets(call, plan, await loadFullCodec(codec))
  const { latencies } = shared.health
  const prepare = preparerOf(call)
  const explained: ExplainedTarget[] = []
  // Nothing is called, so that no target is due to be measured again.
  for (const group of orderTargets(selection, { expect: latencies.look, look: latencies.look }, record.stream)) {
    const all: ExplainedTarget[] = []
    for (const target of group) {
      const onLoss = policyFor(asked, target.onLoss ?? shared.onLoss, identity)
      all.push(await explainTarget(call, target, onLoss, prepare, hidesConfigured))
    }
    explained.push(...(plan.preferLossless ? [...all.filter(isWhole), ...all.filter((one) => !isWhole(one))] : all))
  }
  const others = plan.targets
    .filter((target) => !selection.targets.includes(target))
    .map((target) => ({
      upstream: target.upstreamName,
      model: target.model,
      onLoss: target.onLoss ?? shared.onLoss,
      losses: [],
      refused: shown(notMeant().info),
    }))
  return { format: codec.format, model: record.model, stream: record.stream, plan: [...explained, ...others] }
}

const isWhole = ({ losses, refused }: ExplainedTarget): boolean =>
  refused === undefined && losses.every(({ severity }) => severity === 'note')

const notMeant = (): GatewayError =>
  new GatewayError('invalid_request', "Such requests are not meant for this target (its 'when').")

async function explainTarget(
  call: ExplainedCall,
  target: ResolvedTarget,
  onLoss: OnLoss,
  prepare: Prepare<PreparedGeneration>,
  hidesConfigured: boolean,
): Promise<ExplainedTarget> {
  const { shared, inbound, record } = call
  const { upstream, upstreamName, model } = target
  const { state } = shared.health.standing(target, record.identity)
  const known = { upstream: upstreamName, model, onLoss, ...(state === 'ready' ? {} : { resting: state }) }
  try {
    const prepared = await prepare(target, onLoss)
    const { lane, url } = withTargetOverrides(target, prepared, call)
    const body = JSON.parse(redactorOf(upstream).redactJson(textOf(lane.body))) as Json
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
          addFlags(
            requestHeaders(upstream, undefined, record.stream, (name) => inbound.header(name)),
            lane.flags,
          ),
          upstream,
        ),
        body: hidesConfigured ? withoutConfigured(body, textOf(prepared.lane.body), target) : body,
      },
      losses,
      ...(refused === undefined ? {} : { refused: shown(refused.info) }),
    }
  } catch (error) {
    return { ...known, losses: [], refused: shown(toEncodeError(error).info) }
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
