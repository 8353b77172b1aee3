import { createCallRecord } from '../accounting/call-record.ts'
import { decide } from '../base/callbacks.ts'
import { type ErrorInfo, GatewayError } from '../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import { admitEarly } from '../calls/admit-early.ts'
import type { PreparingCall } from '../calls/call.ts'
import { prepareTarget } from '../calls/target-selector.ts'
import { createCandidate, loadConditions, orderTargets, planFor, selectTargets } from '../calls/try-targets.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { ExplainedRequest, ExplainedTarget, Explanation } from '../config/explanation.ts'
import type { Identity, OnLoss } from '../config/identity.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { GenerationWriter } from '../lanes/generation.ts'
import type { Lane, TargetRequest } from '../lanes/lane.ts'
import { effectiveLossPolicy, lossPolicyHeader, parseLossPolicy } from '../routing/loss-policy.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { addFlags, requestHeaders } from '../upstreams/outgoing-call.ts'
import { maskHeaders, redact, redactorOf } from '../upstreams/redaction/redactor.ts'
import { loadAdapter } from './load-adapter.ts'
import { noticedScheme } from './references/notice.ts'
import type { RoutedCall } from './route.ts'

/**
 * Explains a generation call to its client. No upstream is called and nothing is billed, so the call record gets no model, unless stored
 * objects are read. Throws GatewayError `permission` for identities that the option `explain` does not allow, and as `admitEarly` does.
 */
export async function explainOverHttp(call: RoutedCall, request: RequestBody): Promise<Explanation> {
  const { snapshot, route, codec, record } = call
  const { model } = record
  record.model = ''
  if (!(await mayExplain(snapshot.config.explain, record.identity, call)))
    throw new GatewayError(
      'permission',
      'modelgate=explain: this gateway does not explain calls for this token (option `explain`).',
    )
  if (noticedScheme(route, request) !== undefined) {
    // Counts as a request before the store is read. Without an attempt, budgets are charged nothing.
    record.model = model
    await admitEarly({ ...call, request, modelPlaces: codec.modelPlaces })
  }
  return explain(call, request, true)
}

const mayExplain = (
  allowed: GatewayConfig['explain'],
  identity: Identity | null,
  { shared, signal }: RoutedCall,
): boolean | Promise<boolean> =>
  typeof allowed === 'function'
    ? decide(allowed(identity), shared.logger, { name: 'explain', ms: shared.limits.callbackMs, signal })
    : allowed === true

/**
 * Explains a generation request without calling an upstream. Its call record is its own, and is never settled. Rejects with the error
 * that rejects the call before any target is tried: an unknown model, a policy that is not allowed.
 *
 * @param hidesConfigured replaces the values that the configuration puts into a body (`defaults`, `overrides`): they are the operator's
 */
export async function explain(
  { snapshot, shared, route, codec, inbound, record: { requestId, identity } }: RoutedCall,
  received: RequestBody,
  hidesConfigured: boolean,
): Promise<Explanation> {
  const { model, stream } = received.fields
  const record = createCallRecord(requestId, route.operation, codec.format)
  record.identity = identity
  record.model = String(model)
  record.stream = stream === true
  record.tokenCounting = { output: codec.outputBound }
  const { request, stored } = await snapshot.resolveReferences(route, received, identity)
  const { limits, references } = shared
  const client = codec.clientQuirks?.((name) => inbound.header(name))
  const own = new GenerationWriter(
    {
      codec,
      request,
      stream: record.stream,
      client,
      limits,
      references,
      stored,
    },
    shared.parts,
  )
  const adapt = await loadAdapter({ route, snapshot })
  const writer = adapt === undefined ? own : adapt(own, request)
  const call: PreparingCall = { shared, inbound, codec, request, modelPlaces: codec.modelPlaces, writer, record }
  const requestedPolicy = parseLossPolicy(inbound.header(lossPolicyHeader))
  const plan = planFor(call)
  const cards = plan.fits ? await shared.cards.load() : undefined
  const selection = selectTargets(call, plan, plan.conditional ? await loadConditions(call) : undefined, cards)
  const { latencies } = shared.health
  const explained: ExplainedTarget[] = []
  // Nothing is called, so no target is due to be measured again.
  for (const group of orderTargets(
    selection,
    { claimMeasurement: latencies.expectedMs, expectedMs: latencies.expectedMs },
    record.stream,
  )) {
    const all: ExplainedTarget[] = []
    for (const target of group) all.push(await explainTarget(call, target, requestedPolicy, hidesConfigured))
    explained.push(
      ...(plan.preferLossless ? [...all.filter(isLossless), ...all.filter((one) => !isLossless(one))] : all),
    )
  }
  const others = plan.targets
    .filter((target) => !selection.targets.includes(target))
    .map((target) => ({
      upstream: target.upstreamName,
      model: target.model,
      onLoss: target.onLoss ?? shared.onLoss,
      losses: [],
      refused: shown((selection.tooSmall?.get(target) ?? notMeant()).info),
    }))
  return { format: codec.format, model: record.model, stream: record.stream, plan: [...explained, ...others] }
}

const isLossless = ({ losses, refused }: ExplainedTarget): boolean =>
  refused === undefined && losses.every(({ severity }) => severity === 'note')

const notMeant = (): GatewayError =>
  new GatewayError('invalid_request', 'This target does not accept the request (its `when` condition did not match).')

async function explainTarget(
  call: PreparingCall,
  target: ResolvedTarget,
  requestedPolicy: OnLoss | undefined,
  hidesConfigured: boolean,
): Promise<ExplainedTarget> {
  const { shared, record } = call
  const { upstreamName, model } = target
  // Throws where the caller may not request the policy: the call itself is then rejected.
  const onLoss = effectiveLossPolicy(requestedPolicy, target.onLoss ?? shared.onLoss, record.identity)
  const { state } = shared.health.availability(target, record.identity)
  const known = { upstream: upstreamName, model, onLoss, ...(state === 'ready' ? {} : { resting: state }) }
  const candidate = createCandidate(target)
  await prepareTarget(call, candidate, requestedPolicy)
  const refused = candidate.refusal === undefined ? {} : { refused: shown(candidate.refusal.info) }
  if (candidate.request === undefined) return { ...known, losses: [], ...refused }
  const { lane } = candidate.request
  return {
    ...known,
    lane: lane.kind,
    ...(lane.upstreamFormat === undefined ? {} : { format: lane.upstreamFormat }),
    request: explainRequest(call, candidate.request, target, hidesConfigured),
    losses: lane.report.losses,
    ...refused,
  }
}

function explainRequest(
  { inbound, record }: PreparingCall,
  { lane, url, clientBody }: TargetRequest,
  target: ResolvedTarget,
  hidesConfigured: boolean,
): ExplainedRequest {
  const { upstream } = target
  const body = JSON.parse(redactorOf(upstream).redactJson(textOf(lane.body))) as Json
  const headers = requestHeaders(upstream, undefined, record.stream, (name) => inbound.header(name))
  return {
    method: 'POST',
    path: redact(url.slice(upstream.baseURL.length), upstream),
    headers: maskHeaders(addFlags(headers, lane.flags), upstream),
    body: hidesConfigured && clientBody !== undefined ? withoutConfigured(body, textOf(clientBody), target) : body,
  }
}

/** A generation's body: it has no uploads. */
const textOf = (body: Lane['body']): string =>
  typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array)

const hiddenValue = '(set by the configuration)'

/** Returns the body with a placeholder for every top-level field that `defaults` or `overrides` added or changed. */
function withoutConfigured(body: Json, before: string, { defaults, overrides }: ResolvedTarget): Json {
  const fields = Object.keys({ ...defaults, ...overrides })
  if (fields.length === 0 || !isObject(body)) return body
  const unconfigured = JSON.parse(before) as JsonObject
  const changed = fields.filter(
    (field) => Object.hasOwn(body, field) && JSON.stringify(body[field]) !== JSON.stringify(unconfigured[field]),
  )
  return { ...body, ...Object.fromEntries(changed.map((field) => [field, hiddenValue])) }
}

const shown = ({ kind, status, message, param }: ErrorInfo): NonNullable<ExplainedTarget['refused']> => ({
  kind,
  status,
  message,
  ...(param === undefined ? {} : { param }),
})
