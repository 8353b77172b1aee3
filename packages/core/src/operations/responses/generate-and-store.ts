import { newId } from '../../base/bytes.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { parseExact } from '../../base/json/parse.ts'
import { admitEarly } from '../../calls/admit-early.ts'
import type { FinishEvent } from '../../config/finish-event.ts'
import { isSharedCodec, wireCodecs } from '../../formats/codec-registry.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Reply } from '../../http/inbound.ts'
import { blockEnd } from '../../http/sse/blocks.ts'
import { createSseDecoder, decodeBlock } from '../../http/sse/sse.ts'
import type { Generation } from '../../lanes/lane.ts'
import { storedScheme } from '../references/notice.ts'
import type { GenerateResponse, RoutedCall } from '../route.ts'
import { type PollingCall, settlePrevious } from '../stored-responses.ts'
import {
  beginBackground,
  endInCall,
  isRunning,
  settleBackground,
  settleDeleted,
  withRelayedOutput,
} from './background.ts'
import { asksForCompaction, withoutTriggers } from './compaction/conversation.ts'
import { compactedReply, planCompaction, streamedReply, summarize } from './compaction/emulation.ts'
import { checkPolled, pollBackground } from './poll-background.ts'
import {
  type CallerRecords,
  type ForwardedResponse,
  foreignRecord,
  itemId,
  outputItems,
  type ResponseRecord,
} from './records.ts'
import { type ResolvedRequest, resolveReferences } from './resolve-references.ts'
import { withinStoreTimeout } from './store-timeout.ts'

/**
 * Generates a response for a request that may refer to stored responses. References are replaced by their content. The response is stored,
 * unless the request has `store: false` or storing is disabled for this caller. If the upstream stores the response itself, only the
 * upstream is recorded. On a WebSocket, the connection keeps a response that is not stored.
 */
export async function generateAndStore(
  call: RoutedCall,
  received: RequestBody,
  records: CallerRecords,
  generateResponse: GenerateResponse,
): Promise<Reply> {
  const { shared, route, record, codec } = call
  const { limits, references } = shared
  const { store, conversation } = received.value
  const isStored = store !== false && records.isEnabled
  // A conversation would contain the output, and be read without a call about the response.
  const inConversation = conversation !== undefined && conversation !== null
  if (isStored && record.background === true && !inConversation) record.settledLater = true
  await admitEarly({ ...call, request: received, modelPlaces: codec.modelPlaces })
  if (record.settledLater === true) checkPolled(shared, records.owner)
  const options = { policy: references, maxChars: limits.bodyBytes }
  const resolved = await resolveReferences(storedScheme(route), received, records, options)
  const { request, previous, onlyUpstream, unknown, notOwned } = resolved
  const stored = { onlyUpstream, unknown, notOwned }
  if (resolved.unsettled !== undefined) await settlePrevious(call, records, resolved.unsettled)
  if (asksForCompaction(request.value)) {
    const compaction = planCompaction(call, resolved, 'trigger')
    // The trigger belongs to this request only.
    const withoutTrigger = { ...resolved, input: withoutTriggers(resolved.input) }
    const storing = { call, records, resolved: withoutTrigger, isStored, items: new Map() }
    if (compaction.isNative) {
      const { plan } = compaction
      return storeReply(await generateResponse(call, request, { stored, plan }), storing)
    }
    const summary = await summarize(call, compaction, stored, generateResponse)
    const reply = await compactedReply(summary, records, { previous, isStored })
    const whole = await storeReply(reply, { ...storing, isOwn: true })
    return record.stream ? streamedReply(call, whole) : whole
  }
  if (!isStored && records.connection === undefined) return generateResponse(call, request, { stored })
  const kept = isStored ? (previous === undefined ? {} : { previous }) : inConnection(received)
  const reply = await generateResponse(call, request, { stored, kept })
  return storeReply(reply, { call, records, resolved, isStored, items: new Map() })
}

/** The response is not stored, but its connection keeps it. */
function inConnection({ value }: RequestBody): NonNullable<Generation['kept']> {
  const previous = value.previous_response_id
  return { inConnection: true, ...(typeof previous === 'string' ? { previous } : {}) }
}

/** A call whose response is stored. */
interface StoringCall {
  readonly call: RoutedCall
  readonly records: CallerRecords
  readonly resolved: ResolvedRequest
  /** False: only the connection keeps the response. */
  readonly isStored: boolean
  /** The gateway made the response from that of the upstream, which does not have it. Default: false. */
  readonly isOwn?: boolean
  /** The finished items of a stream so far, by their position, if a connection keeps the response. */
  readonly items: Map<number, Json>
  /** What is stored about a background response. */
  work?: string
}

/** Events with a response that matters here. The first one claims the id for its owner; the others state the outcome. */
const storedEvents: readonly string[] = [
  'response.created',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'response.done',
]

/**
 * Stores the response in a reply before its last bytes are sent, so that the client's next request finds it. If the store fails, the client
 * still receives the response, with `store: false`.
 */
async function storeReply(reply: Reply, storing: StoringCall): Promise<Reply> {
  const { body } = reply
  if (reply.status !== 200 || body === null) return reply
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return { ...reply, body: storeStream(body, storing) }
  const response = parse(typeof body === 'string' ? body : decoder.decode(body))
  if (response === undefined) return reply
  const forClient = await storeResponse(response, storing)
  return forClient === response ? reply : { ...reply, body: stringifyExact(forClient) }
}

function storeStream(body: AsyncIterable<Uint8Array>, storing: StoringCall): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const inner = body[Symbol.asyncIterator]()
      let parts: Uint8Array[] = []
      return {
        async next() {
          if (parts.length === 0) {
            const item = await inner.next()
            if (item.done === true) return item
            parts = await storeFromChunk(item.value, storing)
          }
          return { done: false, value: parts.shift() as Uint8Array }
        },
        return: async () => {
          parts = []
          return (await inner.return?.()) ?? { done: true, value: undefined }
        },
      }
    },
  }
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** Stores the responses in a chunk. Returns the chunk, in parts if one of its events changed. Chunks hold whole events. */
async function storeFromChunk(chunk: Uint8Array, storing: StoringCall): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = []
  let from = 0
  for (let at = 0, end = 0; at < chunk.length; at = end) {
    end = blockEnd(chunk, at)
    const block = chunk.subarray(at, end)
    if (storing.records.connection !== undefined) collectItem(block, storing.items)
    const eventText = storedEventText(block)
    const forClient = eventText === undefined ? undefined : await storeFromBlock(eventText, storing)
    if (forClient === undefined) continue
    if (from < at) parts.push(chunk.subarray(from, at))
    parts.push(encoder.encode(forClient))
    from = end
  }
  if (from < chunk.length || parts.length === 0) parts.push(from === 0 ? chunk : chunk.subarray(from))
  return parts
}

const itemDone = 'response.output_item.done'

/** Collects a finished item: some servers end a stream with a response whose output is empty. */
function collectItem(block: Uint8Array, items: Map<number, Json>): void {
  if (!decoder.decode(block.subarray(0, nameBytes)).includes(itemDone)) return
  for (const { data } of decodeBlock(decoder.decode(block)) ?? []) {
    const event = parse(data)
    if (isObject(event?.item) && typeof event.output_index === 'number') items.set(event.output_index, event.item)
  }
}

/** Names of events about a part of a response. */
const partEventName = /^event: ?response\.[a-z_.]+\.(?:delta|done|added)\r?\n/
/** Number of bytes at the beginning of an event that include its name. */
const nameBytes = 96

/**
 * Returns the text of an event that may contain a response. Most events are deltas and some have megabytes, so events with the name of a
 * delta are not decoded further.
 */
function storedEventText(block: Uint8Array): string | undefined {
  if (partEventName.test(decoder.decode(block.subarray(0, nameBytes)))) return undefined
  const text = decoder.decode(block)
  return storedEvents.some((name) => text.includes(name)) ? text : undefined
}

/** Stores the response in an event. Returns the event for the client, or undefined if it is unchanged. */
async function storeFromBlock(block: string, storing: StoringCall): Promise<string | undefined> {
  let text: string | undefined
  for (const { event: name, data } of decodeBlock(block) ??
    createSseDecoder(Number.POSITIVE_INFINITY).pushText(block)) {
    const event = parse(data)
    if (!isObject(event?.response)) continue
    // Some servers state the type only in the event's name.
    if (!storedEvents.includes(typeof event.type === 'string' ? event.type : (name ?? ''))) continue
    const forClient = await storeResponse(event.response, storing)
    if (forClient !== event.response)
      text = (text ?? block).replace(data, () => stringifyExact({ ...event, response: forClient }))
  }
  return text
}

/** Stores a response and returns it for the client. A response that could not be stored has `store: false`. */
async function storeResponse(response: JsonObject, storing: StoringCall): Promise<JsonObject> {
  const { records, resolved, call } = storing
  const { record } = call
  const { owner } = records
  const { input, previous, continued } = resolved
  const isSame = storing.isOwn !== true && record.upstreamFormat === record.format
  // A failed response cannot be continued.
  const isWhole = response.status === 'completed' || response.status === 'incomplete'
  // Not every server of this format stores responses. The upstream's own `store` is forwarded unchanged.
  const saveForwarded = async () =>
    response.store !== false &&
    (await saveBackground(response, { kind: 'forwarded', owner, upstream: record.upstream ?? '' }, storing))
  // The store cannot hold a conversation that begins at an upstream.
  const saveKept = () =>
    isWhole &&
    continued === undefined &&
    saveRecord(
      response,
      { kind: 'kept', owner, response, input: input.map(withId), ...(previous === undefined ? {} : { previous }) },
      storing,
    )
  const isStored = storing.isStored && (await (isSame ? saveForwarded() : saveKept()))
  if (isWhole) keepInConnection(response, isStored, storing)
  if (isSame || !storing.isStored || response.status === 'in_progress') return response
  return isStored || response.store !== true ? response : { ...response, store: false }
}

/** Saves the record of a response that its upstream stores. While a background response runs, its reservation is part of the record. */
async function saveBackground(response: JsonObject, stored: ForwardedResponse, storing: StoringCall): Promise<boolean> {
  const { records, call } = storing
  const { shared, record } = call
  const id = itemId(response)
  if (record.settledLater !== true || id === undefined) return saveRecord(response, stored, storing)
  if (record.deferred !== true) {
    if (!isRunning(response)) return saveRecord(response, stored, storing)
    const work = beginBackground(shared, record)
    const isSaved = await saveRecord(response, { ...stored, work }, storing)
    if (isSaved) {
      storing.work = work
      pollAfterCall(storing, id, work)
    } else endInCall(shared, record, work)
    return isSaved
  }
  if (isRunning(response)) return true
  const known = await records.response(id).catch(() => null)
  if (known === undefined) {
    // The client has deleted it. No other call can settle it.
    if (record.settled !== true && storing.work !== undefined) endInCall(shared, record, storing.work)
    return false
  }
  // Another call may have settled it already.
  if (known === null || known === foreignRecord || known.kind === 'kept' || known.work === undefined)
    return saveRecord(response, stored, storing)
  const codec = wireCodecs[record.format]
  if (record.settled === true && isSharedCodec(codec))
    await settleBackground({ shared, record, records }, codec, id, known, response)
  else endInCall(shared, record, known.work)
  return saveRecord(response, stored, storing)
}

/** Polls a background response when its call ends before it. Keeps nothing of the call: the response may run for hours. */
function pollAfterCall({ call, records: { connection: _, ...records } }: StoringCall, id: string, work: string): void {
  const { snapshot, route, shared, record, transport } = call
  const { identity, format } = record
  const { upstreams } = snapshot.config
  const signal = shared.closing
  const polling = { id, route, upstreams, shared, transport, signal, records, record: { identity, format } }
  const { onSettled: inner } = record
  const onSettled = (event: FinishEvent): void => {
    inner?.(event)
    if (event.deferred === true) void noteEndOfCall(polling, withRelayedOutput(work, record.estimateOutput?.() ?? 0))
  }
  record.onSettled = onSettled
}

/** Stores how much of a background response its client has received, and polls the response until it is settled. */
async function noteEndOfCall(polling: PollingCall, work: string): Promise<void> {
  const { records, id, shared, record } = polling
  try {
    const known = await withinStoreTimeout(records.response(id))
    if (known === undefined) {
      settleDeleted({ shared, record }, work)
      return
    }
    if (known === foreignRecord || known.kind === 'kept' || known.work === undefined) return
    await withinStoreTimeout(records.save(id, { ...known, work }, []))
  } catch (error) {
    shared.logger.warn(
      `modelgate: the store did not accept what the client received of background response '${id}': if it is cancelled, only its reservation is charged`,
      error,
    )
  }
  pollBackground(polling)
}

/** Makes a response the latest one of its lane, if its request came over a WebSocket. */
function keepInConnection(response: JsonObject, isStored: boolean, storing: StoringCall): void {
  const { records, resolved, call, items } = storing
  const { connection } = records
  if (connection === undefined) return
  const id = itemId(response)
  if (isStored || id === undefined) {
    connection.forget()
    return
  }
  const listed = outputItems(response)
  const output = listed.length > 0 ? listed : [...items].sort(([a], [b]) => a - b).map(([, item]) => item)
  const base = resolved.continued ?? resolved.previous
  try {
    connection.save(id, { items: [...resolved.input, ...output], ...(base === undefined ? {} : { base }) })
  } catch (error) {
    connection.forget()
    call.shared.logger.warn(
      `modelgate: response of request ${call.record.requestId} is too large to be continued on its WebSocket (limits.socketStateChars)`,
      error,
    )
  }
}

/** Saves a record. Returns whether the store accepted it. */
async function saveRecord(response: JsonObject, stored: ResponseRecord, storing: StoringCall): Promise<boolean> {
  const { records, call } = storing
  const id = itemId(response)
  if (id === undefined) return false
  try {
    await withinStoreTimeout(records.save(id, stored, outputItems(response)))
    return true
  } catch (error) {
    call.shared.logger.warn(`modelgate: response of request ${call.record.requestId} could not be stored`, error)
    return false
  }
}

/** Adds an id to an item without one, so that later requests can refer to it. */
const withId = (item: Json): Json =>
  isObject(item) && itemId(item) === undefined ? { ...item, id: newId('msg_') } : item

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseExact(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
