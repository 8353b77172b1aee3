import type { CallRecord } from '../accounting/call-record.ts'
import type { JsonObject } from '../base/json/json.ts'
import { jsonReply, toReply } from '../calls/reply.ts'
import { tryTargets } from '../calls/try-targets.ts'
import { maxMediaBytes } from '../config/media-policy.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import { isUpstreamFormat } from '../formats/codec-registry.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Framing, FramingName } from '../http/framing/framing.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import { GenerationWriter } from '../lanes/generation.ts'
import type { MediaFetching } from '../lanes/lane.ts'
import { speaks } from '../upstreams/outgoing-call.ts'
import { type Adapter, loadAdapter } from './load-adapter.ts'
import { noticedScheme } from './references/notice.ts'
import type { GenerationState, Handler, HandlerConfig, Route, RoutedCall } from './route.ts'

/** Handles chat generation in any format. */
export const handleGenerate: Handler = async (call) => {
  const { snapshot, route, codec, inbound, record } = call
  const request = await call.readBody(codec.loadRequestCheck(), likelyPasses(snapshot, route, record))
  const { fields } = request
  if (codec.loadResponseWithoutModel !== undefined) {
    const responseWithoutModel = await codec.loadResponseWithoutModel()
    const response = responseWithoutModel(fields, Math.floor(Date.now() / 1000))
    if (response !== undefined) {
      // Throws for a model that does not exist.
      call.shared.router.plan(String(fields.model), record.identity)
      return jsonReply(record, response)
    }
  }
  record.model = String(fields.model)
  record.stream = fields.stream === true
  record.tokenCounting = { output: codec.outputBound, textFields: codec.textFields }
  if (isBackground(codec, fields)) record.background = true
  if (inbound.query !== '' && asksToExplain(inbound)) {
    const { explainOverHttp } = await snapshot.parts.loadExplanation()
    return jsonReply(record, (await explainOverHttp(call, request)) as unknown as JsonObject)
  }
  // Awaited here: a promise returned from an async function costs three turns of the microtask queue.
  if (route.usesStoredResponses === true && (snapshot.keepsResponses || request.outline === undefined)) {
    const { generateAndStore } = await snapshot.parts.loadResponseStore()
    return await generateAndStore(call, request, await snapshot.recordsOf(record.identity), generate)
  }
  const scheme = noticedScheme(route, request)
  if (scheme === undefined) return await generate(call, request)
  const { admitEarly } = await import('../calls/admit-early.ts')
  await admitEarly({ ...call, request, modelPlaces: codec.modelPlaces })
  const holder = await snapshot.checkReferences(scheme, request, record.identity)
  return await generate(call, request, holder && { stored: { holder } })
}

/**
 * Generates the response to a request: plan, then one attempt after another until one succeeds. Rejects with GatewayError.
 *
 * @param state how the request depends on stored responses
 */
export function generate(call: RoutedCall, request: RequestBody, state?: GenerationState): Promise<Reply> {
  const adapting = loadAdapter(call)
  if (adapting !== undefined) return adapting.then((adapt) => generateFramed(call, request, state, undefined, adapt))
  const name = call.record.stream ? framingOf(call.route, call.inbound) : undefined
  if (name === undefined) return generateFramed(call, request, state, undefined)
  const framing = call.snapshot.parts.loadFraming(name)
  return framing instanceof Promise
    ? framing.then((loaded) => generateFramed(call, request, state, loaded))
    : generateFramed(call, request, state, framing)
}

function generateFramed(
  { shared, codec, inbound, record, transport, signal, end }: RoutedCall,
  request: RequestBody,
  state: GenerationState | undefined,
  framing: Framing | undefined,
  adapt: Adapter | undefined = state?.adapt,
): Promise<Reply> {
  const { stream } = record
  const { limits, references } = shared
  const own = new GenerationWriter(
    {
      codec,
      request,
      stream,
      framing,
      client: codec.clientQuirks?.((name) => inbound.header(name)),
      limits,
      references,
      kept: state?.kept,
      media: shared.media === undefined ? undefined : mediaFetching(shared.media, shared, signal),
      stored: state?.stored,
    },
    shared.parts,
  )
  const { modelPlaces } = codec
  const writer = adapt === undefined ? own : adapt(own, request)
  const plan = state?.plan
  const call = { shared, inbound, codec, request, modelPlaces, plan, writer, record, transport, signal, end, framing }
  return tryTargets(call).then((response) => toReply(call, response))
}

const mediaFetching = (
  policy: MediaFetching['policy'],
  { limits, logger }: RoutedCall['shared'],
  signal: RoutedCall['signal'],
): MediaFetching => ({
  policy,
  maxTotalBytes: Math.min(limits.bodyBytes, maxMediaBytes),
  signal,
  logger,
  limits,
})

function isBackground({ backgroundFields }: ClientWireCodec, fields: JsonObject): boolean {
  if (backgroundFields === undefined) return false
  for (const field of backgroundFields) if (fields[field] === true) return true
  return false
}

/** Returns the framing of a stream; undefined for server-sent events. */
const framingOf = ({ framing, eventsIf }: Route, { query }: Inbound): FramingName | undefined =>
  eventsIf !== undefined && new URLSearchParams(query).get(eventsIf.name) === eventsIf.value ? undefined : framing

/** Returns whether a request asks for an explanation: `?modelgate=explain` on a generation path. */
export const asksToExplain = ({ query }: Inbound): boolean =>
  query.includes('modelgate=') && new URLSearchParams(query).get('modelgate') === 'explain'

/**
 * Returns a function that guesses, by the model's name, whether a request will pass unchanged: its body is then not parsed in full.
 * Undefined where the whole value is needed in any case, by plugins with `onRequest` or by the response store.
 */
function likelyPasses(
  { shared: { plugins, router }, keepsResponses }: HandlerConfig,
  { usesStoredResponses, format }: Route,
  { identity }: CallRecord,
): ((model: string) => boolean) | undefined {
  if ((usesStoredResponses === true && keepsResponses) || plugins.some(({ onRequest }) => onRequest !== undefined))
    return undefined
  const spoken = isUpstreamFormat(format) ? format : undefined
  if (spoken === undefined) return undefined
  return (name) =>
    router.has(name, identity) &&
    router.plan(name, identity).targets.some(({ upstream, model }) => speaks(upstream, spoken, model))
}
