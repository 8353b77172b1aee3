import { newId } from '../../../base/bytes.ts'
import { GatewayError } from '../../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../../base/json/json.ts'
import { parseObjectExact } from '../../../base/json/parse.ts'
import { oneChunk } from '../../../calls/response-body.ts'
import type { OnLoss } from '../../../config/identity.ts'
import { isUpstreamFormat } from '../../../formats/codec-registry.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import { loss } from '../../../formats/shared/report.ts'
import type { Reply } from '../../../http/inbound.ts'
import { encodeAllSse, encodeText } from '../../../http/sse/encode.ts'
import type { RequestWriter, StoredState, TargetRequest } from '../../../lanes/lane.ts'
import { checkNamedModels, type Plan, type ResolvedTarget } from '../../../routing/router.ts'
import { speaks } from '../../../upstreams/outgoing-call.ts'
import type { Upstream } from '../../../upstreams/upstream.ts'
import type { GenerateResponse, RoutedCall } from '../../route.ts'
import { type CallerRecords, outputItems } from '../records.ts'
import type { ResolvedRequest } from '../resolve-references.ts'
import { summaryRequest } from './conversation.ts'
import { sealSummary } from './seal.ts'

/** Ways to ask an upstream to compact a conversation. */
export type CompactionMeans = keyof NonNullable<Upstream['compaction']>

/** How the conversation of a request is compacted: by its targets, or by a summary that a model writes for the gateway. */
export interface Compaction {
  /** The targets that may be called. */
  readonly plan: Plan
  /** The targets compact conversations themselves. */
  readonly isNative: boolean
  /** The request for the targets. */
  readonly request: RequestBody
}

/**
 * Decides how the conversation of a request is compacted. If some targets of its model can compact, only these are called.
 *
 * @param means how the client asks for it
 * @throws GatewayError `model_not_found`, or `invalid_request` if the configuration refuses summaries
 */
export function planCompaction(
  { snapshot, shared, codec, record }: Pick<RoutedCall, 'snapshot' | 'shared' | 'codec' | 'record'>,
  { request, onlyUpstream, continued }: Pick<ResolvedRequest, 'request' | 'onlyUpstream' | 'continued'>,
  means: CompactionMeans,
): Compaction {
  const { router } = shared
  const plan = router.plan(record.model, record.identity)
  const targets = plan.targets.filter(
    ({ upstream, upstreamName, model }) =>
      upstream.compaction?.[means] !== undefined &&
      isUpstreamFormat(codec.format) &&
      speaks(upstream, codec.format, model) &&
      (onlyUpstream === undefined || onlyUpstream === upstreamName),
  )
  if (targets.length > 0) return { plan: { ...plan, targets }, isNative: true, request }
  const { compaction = {} } = snapshot.config
  if (compaction === 'refuse') throw refused(record.model)
  // Of a repeated member, the summary's request would keep only the last value.
  checkNamedModels({ request, modelPlaces: codec.modelPlaces }, router, record.identity)
  const { model, prompt } = compaction
  // Another model cannot read what only an upstream has. The operator chose the model, so the caller need not be allowed to use it.
  const summarizer = model === undefined || continued !== undefined ? plan : router.plan(model, null)
  return { plan: summarizer, isNative: false, request: summaryRequest(request, prompt) }
}

const refused = (model: string): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The upstream of model '${model.slice(0, 100)}' cannot compact conversations, and this gateway is configured not to do it instead (compaction: 'refuse').`,
    { param: 'input' },
  )

/** A response in which a model wrote a summary. */
export interface Summary {
  readonly reply: Reply
  readonly response: JsonObject
  readonly text: string
}

/**
 * Makes a model write the summary of a conversation. The whole response is read before the client gets one, so that a cut-off summary
 * fails the call.
 *
 * @throws GatewayError as every call does, and `upstream_bad_response` for a response without a whole summary
 */
export async function summarize(
  call: RoutedCall,
  { request, plan }: Compaction,
  stored: StoredState,
  generate: GenerateResponse,
): Promise<Summary> {
  const { record } = call
  const { stream } = record
  record.stream = false
  try {
    const reply = await generate(call, request, { stored, plan, adapt: (own) => new SummaryWriter(own) })
    const response = parseObjectExact(textOf(reply)) ?? {}
    return { reply, response, text: summaryIn(response) }
  } finally {
    record.stream = stream
  }
}

/** Writes requests for summaries, and reports that a summary replaces the conversation. */
class SummaryWriter implements RequestWriter {
  readonly #generation: RequestWriter

  constructor(generation: RequestWriter) {
    this.#generation = generation
  }

  write(target: ResolvedTarget, policy: OnLoss): TargetRequest | Promise<TargetRequest> {
    const written = this.#generation.write(target, policy)
    return written instanceof Promise ? written.then(reported) : reported(written)
  }
}

function reported(request: TargetRequest): TargetRequest {
  request.lane.report.add(loss('/input', 'a summary by a model replaces the conversation', 'approximated'))
  return request
}

const decoder = new TextDecoder()

const textOf = ({ body }: Reply): string => (typeof body === 'string' ? body : decoder.decode(body as Uint8Array))

/** Returns the text of all messages of a response. Throws a GatewayError if it is no whole summary. */
function summaryIn(response: JsonObject): string {
  if (response.status === 'incomplete')
    throw new GatewayError(
      'upstream_bad_response',
      'The summary of the conversation was cut off, so the conversation was not compacted. Raise max_output_tokens, or leave it out.',
    )
  const text = outputItems(response)
    .flatMap((item) => (isObject(item) && item.type === 'message' && Array.isArray(item.content) ? item.content : []))
    .map((part: Json) => (isObject(part) && part.type === 'output_text' ? String(part.text) : ''))
    .join('')
  if (text.trim() !== '') return text
  throw new GatewayError('upstream_bad_response', 'The model wrote no summary, so the conversation was not compacted.')
}

/** Returns the compaction item with a summary. */
export const compactionItem = async (
  text: string,
  { owner, sealSecret }: Pick<CallerRecords, 'owner' | 'sealSecret'>,
): Promise<JsonObject> => ({
  id: newId('cmp_'),
  type: 'compaction',
  encrypted_content: await sealSummary(text, owner, sealSecret),
})

/** Returns the response of a provider that compacts, in place of that with the summary: exactly one compaction item. */
export async function compactedReply(
  { reply, response, text }: Summary,
  records: Pick<CallerRecords, 'owner' | 'sealSecret'>,
  { previous, isStored }: { readonly previous: string | undefined; readonly isStored: boolean },
): Promise<Reply> {
  const body: JsonObject = {
    ...response,
    output: [await compactionItem(text, records)],
    previous_response_id: previous ?? null,
    store: isStored,
  }
  return { ...reply, body: stringifyExact(body) }
}

/** Returns a whole reply with one compaction item as a stream. Ends the call. */
export function streamedReply({ end }: Pick<RoutedCall, 'end'>, reply: Reply): Reply {
  const response = parseObjectExact(textOf(reply)) ?? {}
  const begun: JsonObject = { ...response, status: 'in_progress', output: [], usage: null }
  const [item = null] = outputItems(response)
  const events: readonly JsonObject[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ]
  const text = encodeAllSse(
    events.map((event, number) => ({
      event: String(event.type),
      data: stringifyExact({ ...event, sequence_number: number }),
    })),
  )
  end({ status: 200, outcome: 'finished' })
  return {
    ...reply,
    headers: {
      ...reply.headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
    },
    body: oneChunk(encodeText(text)),
  }
}
