import { asString, isObject, type JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { FakeFormat } from '../contract/request.ts'
import type { RequestHead } from '../formats/dialect.ts'
import type { Route } from '../formats/route.ts'
import type { WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'

/** Batches of messages by id. */
export interface MessageBatchMemory {
  readonly messageBatches: Map<string, StoredBatch>
}

interface StoredBatch {
  object: JsonObject
  /** Lines of the results. */
  results: readonly JsonObject[]
  /** Retrievals until all requests are done. */
  pending: number
}

/** Generates a whole response without a request of its own. */
export type RunRequest = (
  format: FakeFormat,
  body: JsonObject,
) => { readonly status: number; readonly body: JsonObject }

export const createMessageBatchMemory = (): MessageBatchMemory => ({ messageBatches: new Map() })

interface MessageBatchCall {
  readonly origin: string
  readonly head: RequestHead
  readonly route: Route
  readonly content: RequestBody
  readonly memory: MessageBatchMemory
  readonly ids: Ids
  readonly now: number
  readonly run: RunRequest
}

type MessageBatchAnswer =
  | { readonly json: JsonObject }
  | { readonly content: Uint8Array<ArrayBuffer>; readonly contentType: string }
  | { readonly error: WireError }

const invalid = (message: string): MessageBatchAnswer => ({
  error: { status: 400, type: 'invalid_request_error', message },
})
const missing: MessageBatchAnswer = { error: { status: 404, type: 'not_found_error', message: 'Not found' } }

const maxRequests = 100_000
const possibleId = /^[a-zA-Z0-9_-]{1,64}$/

/** Handles a call about batches of messages. The second retrieval of a batch finds all of its requests done. */
export function serveMessageBatch(call: MessageBatchCall): MessageBatchAnswer {
  const { head, route, memory } = call
  const { item: id } = route
  if (id === undefined) return head.method === 'POST' ? create(call) : list(call)
  const batch = memory.messageBatches.get(id)
  if (batch === undefined) return missing
  const isEnded = batch.object.processing_status === 'ended'
  if (head.path.endsWith('/results')) {
    if (!isEnded) return missing
    const text = batch.results.map((line) => `${JSON.stringify(line)}\n`).join('')
    return { content: new TextEncoder().encode(text), contentType: 'application/x-jsonl' }
  }
  if (head.path.endsWith('/cancel')) {
    if (isEnded) return invalid(`Batch ${id} cannot be canceled because it has ended.`)
    batch.object = {
      ...batch.object,
      processing_status: 'canceling',
      cancel_initiated_at: new Date(call.now).toISOString(),
    }
    batch.results = batch.results.map(({ custom_id }) => ({ custom_id, result: { type: 'canceled' } }) as JsonObject)
    return { json: batch.object }
  }
  if (head.method === 'DELETE') {
    if (!isEnded) return invalid(`Batch ${id} cannot be deleted because it is still processing. Cancel it first.`)
    memory.messageBatches.delete(id)
    return { json: { id, type: 'message_batch_deleted' } }
  }
  batch.pending--
  if (!isEnded && batch.pending < 0) end(call, id, batch)
  return { json: batch.object }
}

function end({ origin, now }: MessageBatchCall, id: string, batch: StoredBatch): void {
  const counts: Record<string, number> = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 }
  for (const { result } of batch.results) {
    const type = isObject(result) ? asString(result.type) : ''
    counts[type] = (counts[type] ?? 0) + 1
  }
  batch.object = {
    ...batch.object,
    processing_status: 'ended',
    request_counts: counts,
    ended_at: new Date(now).toISOString(),
    results_url: `${origin}/v1/messages/batches/${id}/results`,
  }
}

function create({ content, memory, ids, now, run }: MessageBatchCall): MessageBatchAnswer {
  const body = isObject(content.json) ? content.json : {}
  const unknown = Object.keys(body).find((name) => name !== 'requests')
  if (unknown !== undefined) return invalid(`${unknown}: Extra inputs are not permitted`)
  const { requests } = body
  if (!Array.isArray(requests)) return invalid('requests: Field required')
  if (requests.length === 0) return invalid('requests: List should have at least 1 item after validation, not 0')
  if (requests.length > maxRequests) return invalid(`requests: List should have at most ${maxRequests} items`)
  const seen = new Set<string>()
  const results: JsonObject[] = []
  for (const [at, entry] of requests.entries()) {
    const request = isObject(entry) ? entry : {}
    const extra = Object.keys(request).find((name) => name !== 'custom_id' && name !== 'params')
    if (extra !== undefined) return invalid(`requests.${at}.${extra}: Extra inputs are not permitted`)
    const { custom_id: id, params } = request
    if (typeof id !== 'string') return invalid(`requests.${at}.custom_id: Field required`)
    if (!possibleId.test(id))
      return invalid(`requests.${at}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`)
    if (seen.has(id)) return invalid(`requests: custom_id must be unique, but '${id}' is given twice`)
    seen.add(id)
    if (!isObject(params)) return invalid(`requests.${at}.params: Field required`)
    if (params.stream === true) return invalid(`requests.${at}.params.stream: streaming is not supported in batches`)
    const { status, body: message } = run('messages', params)
    results.push(
      status === 200
        ? { custom_id: id, result: { type: 'succeeded', message: withBatchTier(message) } }
        : { custom_id: id, result: { type: 'errored', error: message } },
    )
  }
  const id = `msgbatch_01${ids.letters(22).replace(/[^a-zA-Z0-9]/g, 'x')}`
  const object: JsonObject = {
    id,
    type: 'message_batch',
    processing_status: 'in_progress',
    request_counts: { processing: results.length, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    ended_at: null,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + 86_400_000).toISOString(),
    archived_at: null,
    cancel_initiated_at: null,
    results_url: null,
  }
  // The order of the results is not that of the requests.
  memory.messageBatches.set(id, { object, results: results.reverse(), pending: 1 })
  return { json: object }
}

const withBatchTier = (message: JsonObject): JsonObject =>
  isObject(message.usage) ? { ...message, usage: { ...message.usage, service_tier: 'batch' } } : message

function list({ head, memory }: MessageBatchCall): MessageBatchAnswer {
  const limit = Number(new URLSearchParams(head.query).get('limit') ?? 20)
  if (!(limit >= 1 && limit <= 1000)) return invalid('limit: Input should be between 1 and 1000')
  const all = [...memory.messageBatches.values()].map(({ object }) => object).reverse()
  const data = all.slice(0, limit)
  return {
    json: {
      data,
      has_more: all.length > limit,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    },
  }
}
