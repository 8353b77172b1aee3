import type { CallRecord } from '../../accounting/call-record.ts'
import { newId } from '../../base/bytes.ts'
import { parseExact, stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Logger } from '../../config/config.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Reply } from '../../http/inbound.ts'
import { blockEnd } from '../../http/sse/blocks.ts'
import { createSseDecoder, decodeBlock } from '../../http/sse/decode.ts'
import type { Generation } from '../../lanes/lane.ts'
import type { RoutedCall } from '../route.ts'
import { type CallerRecords, itemId, outputItems, type ResponseRecord, withinStoreTimeout } from './records.ts'
import { type ResolvedRequest, resolveReferences } from './resolve-references.ts'

export interface StoringCall {
  readonly records: CallerRecords
  readonly recalled: ResolvedRequest
  readonly record: CallRecord
  readonly logger: Logger
}

/** Events whose response matters here: the first claims its name for its owner, the others say what became of it. */
const decisive: readonly string[] = [
  'response.created',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'response.done',
]

/**
 * The same reply; the response in it is kept before its last bytes leave, so that the client's next call finds it. A store
 * that fails costs the client nothing but that, and the response then says so.
 */
export async function storeReply(reply: Reply, keeping: StoringCall): Promise<Reply> {
  const { body } = reply
  if (reply.status !== 200 || body === null) return reply
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return { ...reply, body: keepStream(body, keeping) }
  const response = parse(typeof body === 'string' ? body : decoder.decode(body))
  if (response === undefined) return reply
  const told = await keepResponse(response, keeping)
  return told === response ? reply : { ...reply, body: stringifyExact(told) }
}

function keepStream(body: AsyncIterable<Uint8Array>, keeping: StoringCall): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const inner = body[Symbol.asyncIterator]()
      let parts: Uint8Array[] = []
      return {
        async next() {
          if (parts.length === 0) {
            const item = await inner.next()
            if (item.done === true) return item
            parts = await keepFrom(item.value, keeping)
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

/** The chunk, in parts if something else is told in it. Chunks hold whole events, so that none is divided among two. */
async function keepFrom(chunk: Uint8Array, keeping: StoringCall): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = []
  let from = 0
  for (let at = 0, end = 0; at < chunk.length; at = end) {
    end = blockEnd(chunk, at)
    const block = chunk.subarray(at, end)
    const decides = decisiveText(block)
    const told = decides === undefined ? undefined : await keepFromBlock(decides, keeping)
    if (told === undefined) continue
    if (from < at) parts.push(chunk.subarray(from, at))
    parts.push(encoder.encode(told))
    from = end
  }
  if (from < chunk.length || parts.length === 0) parts.push(from === 0 ? chunk : chunk.subarray(from))
  return parts
}

/** The names of events about a part of a response. */
const ofPart = /^event: ?response\.[a-z_.]+\.(?:delta|done|added)\r?\n/
/** Bytes that hold such a name. */
const nameBytes = 96

/** The block's text, if it may hold such an event. Most are deltas, and some are megabytes long: where the name says so, nothing else is read. */
function decisiveText(block: Uint8Array): string | undefined {
  if (ofPart.test(decoder.decode(block.subarray(0, nameBytes)))) return undefined
  const text = decoder.decode(block)
  return decisive.some((name) => text.includes(name)) ? text : undefined
}

/** The block as the client may be told it; undefined: as it is. */
async function keepFromBlock(block: string, keeping: StoringCall): Promise<string | undefined> {
  let text: string | undefined
  for (const { event: name, data } of decodeBlock(block) ??
    createSseDecoder(Number.POSITIVE_INFINITY).pushText(block)) {
    const event = parse(data)
    if (!isObject(event?.response)) continue
    // Some servers leave it to the name.
    if (!decisive.includes(typeof event.type === 'string' ? event.type : (name ?? ''))) continue
    const told = await keepResponse(event.response, keeping)
    if (told !== event.response)
      text = (text ?? block).replace(data, () => stringifyExact({ ...event, response: told }))
  }
  return text
}

/** Keeps it, and gives what the client may be told of it: nothing is `store: true` that cannot be fetched again. */
async function keepResponse(response: JsonObject, keeping: StoringCall): Promise<JsonObject> {
  const { records, recalled, record } = keeping
  const { owner } = records
  const { input, previous } = recalled
  if (record.upstreamFormat === record.format) {
    // Not every server that speaks the format has a memory. What it says of itself is passed on as it is.
    if (response.store !== false)
      await write(response, { kind: 'forwarded', owner, upstream: record.upstream ?? '' }, keeping)
    return response
  }
  if (response.status === 'in_progress') return response
  // What failed is nothing to go on from.
  const isWhole = response.status === 'completed' || response.status === 'incomplete'
  const isKept =
    isWhole &&
    (await write(
      response,
      { kind: 'kept', owner, response, input: input.map(named), ...(previous === undefined ? {} : { previous }) },
      keeping,
    ))
  return isKept || response.store !== true ? response : { ...response, store: false }
}

/** Whether the store took it. */
async function write(response: JsonObject, stored: ResponseRecord, keeping: StoringCall): Promise<boolean> {
  const { records, record, logger } = keeping
  const id = itemId(response)
  if (id === undefined) return false
  try {
    await withinStoreTimeout(records.save(id, stored, outputItems(response)))
    return true
  } catch (error) {
    logger.warn(`modelgate: response of request ${record.requestId} could not be kept`, error)
    return false
  }
}

/** Items can be referred to, so each has a name. */
const named = (item: Json): Json =>
  isObject(item) && itemId(item) === undefined ? { ...item, id: newId('msg_') } : item

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseExact(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Generates with stored responses: replaces the request's references by what they refer to, and stores the response unless the client
 * says `store: false` or the caller has no store. If the upstream stores the response itself, that upstream is recorded.
 */
export async function generateAndStore(
  call: RoutedCall,
  received: RequestBody,
  records: CallerRecords,
  generate: (call: RoutedCall, request: RequestBody, state: Pick<Generation, 'kept' | 'stored'>) => Promise<Reply>,
): Promise<Reply> {
  const { shared, codec, record } = call
  const { router, limits, references, logger } = shared
  // Nothing is looked up for a model that the caller may not use.
  router.plan(record.model, record.identity)
  const recalled = await resolveReferences(codec.format, received, records, references, limits.bodyBytes)
  const { request, previous, onlyUpstream, unknown, notOwned } = recalled
  const stored = { onlyUpstream, unknown, notOwned }
  if (request.value.store === false || !records.isEnabled) return generate(call, request, { stored })
  const kept = previous === undefined ? {} : { previous }
  const reply = await generate(call, request, { stored, kept })
  return storeReply(reply, { records, recalled, record, logger })
}
