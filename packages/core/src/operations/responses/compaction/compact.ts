import { newId } from '../../../base/bytes.ts'
import type { Json, JsonObject } from '../../../base/json/json.ts'
import { stringifyExact } from '../../../base/json/json.ts'
import { admitEarly } from '../../../calls/admit-early.ts'
import { toReply } from '../../../calls/reply.ts'
import { tryTargets } from '../../../calls/try-targets.ts'
import type { WireCodec } from '../../../formats/codec.ts'
import { isSharedCodec, wireCodecs } from '../../../formats/codec-registry.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import type { Reply } from '../../../http/inbound.ts'
import { checkStoredState } from '../../../lanes/generation.ts'
import type { RequestWriter, StoredState, TargetRequest } from '../../../lanes/lane.ts'
import { passThroughLane } from '../../../lanes/pass-through.ts'
import type { ResolvedTarget } from '../../../routing/router.ts'
import { callUrl } from '../../../upstreams/outgoing-call.ts'
import { redactorOf } from '../../../upstreams/redaction/redactor.ts'
import { generate } from '../../generate.ts'
import { storedScheme } from '../../references/notice.ts'
import type { Handler } from '../../route.ts'
import { settlePrevious } from '../../stored-responses.ts'
import type { CallerRecords } from '../records.ts'
import { resolveReferences } from '../resolve-references.ts'
import { messageOf, userMessages } from './conversation.ts'
import { compactionItem, planCompaction, type Summary, summarize } from './emulation.ts'

/**
 * Handles `POST /v1/responses/compact`: returns the window with which a conversation continues. An upstream with this endpoint gets the
 * request unchanged; for others a model writes a summary.
 */
export const handleCompact: Handler = async (call) => {
  const { snapshot, shared, route, codec, inbound, record, transport, signal, end } = call
  const received = await call.readBody(codec.loadRequestCheck())
  record.model = String(received.fields.model)
  record.tokenCounting = { output: codec.outputBound }
  const { limits, references } = shared
  const records = await snapshot.recordsOf(record.identity)
  await admitEarly({ ...call, request: received, modelPlaces: codec.modelPlaces })
  const options = { policy: references, maxChars: limits.bodyBytes }
  const resolved = await resolveReferences(storedScheme(route), received, records, options)
  if (resolved.unsettled !== undefined) await settlePrevious(call, records, resolved.unsettled)
  const { onlyUpstream, unknown, notOwned } = resolved
  const stored = { onlyUpstream, unknown, notOwned }
  const compaction = planCompaction(call, resolved, 'path')
  const { request, plan } = compaction
  if (!compaction.isNative)
    return windowReply(await summarize(call, compaction, stored, generate), resolved.sealed, records)
  if (!isSharedCodec(codec)) throw new TypeError(`Upstreams do not speak the format ${codec.format}`)
  const writer = new CompactWriter(wireCodecs[codec.format], request, stored, limits.answerBytes)
  const { modelPlaces } = codec
  const target = { shared, inbound, codec, request, modelPlaces, plan, writer, record, transport, signal, end }
  return await toReply(target, await tryTargets(target))
}

/** Writes requests for upstreams with the endpoint. */
class CompactWriter implements RequestWriter {
  readonly #codec: WireCodec
  readonly #request: RequestBody
  readonly #stored: StoredState
  readonly #maxBytes: number

  constructor(codec: WireCodec, request: RequestBody, stored: StoredState, maxBytes: number) {
    this.#codec = codec
    this.#request = request
    this.#stored = stored
    this.#maxBytes = maxBytes
  }

  write(target: ResolvedTarget): TargetRequest {
    const { upstream, model } = target
    checkStoredState(this.#stored, target, true)
    const { format, decodeError, tapResponse } = this.#codec
    const dialect = { format, decodeError, tapResponse, isResponse: isWindow }
    const traits = { model, quirks: upstream.quirks }
    return {
      lane: passThroughLane(dialect, this.#request, traits, this.#maxBytes, redactorOf(upstream)),
      // Defaults and overrides of targets are fields of generation requests.
      ignoresOverrides: true,
      url: callUrl(upstream, upstream.compaction?.path as string, undefined, model),
      codec: this.#codec,
    }
  }
}

const isWindow = (body: JsonObject): boolean => Array.isArray(body.output)

/** Returns the window: the user's messages, and the compaction item with the summary. */
async function windowReply(
  { reply, response, text }: Summary,
  { value: { input } }: RequestBody,
  records: CallerRecords,
): Promise<Reply> {
  const items: readonly Json[] =
    typeof input === 'string' ? [messageOf(input)] : userMessages(Array.isArray(input) ? input : [])
  const window: JsonObject = {
    id: newId('resp_'),
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [...items, await compactionItem(text, records)],
    usage: response.usage ?? null,
  }
  return { ...reply, body: stringifyExact(window) }
}
