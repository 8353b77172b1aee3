import { asString, isObject, type JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { FakeFormat } from '../contract/request.ts'
import type { RequestHead } from '../formats/dialect.ts'
import type { Route } from '../formats/route.ts'
import { invalidRequest, type WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'
import type { RunRequest } from './message-batches.ts'
import type { StoredFile } from './stored-file.ts'

/** Batches of OpenAI's API by id. */
export interface FileBatchMemory {
  readonly fileBatches: Map<string, JsonObject>
}

export const createFileBatchMemory = (): FileBatchMemory => ({ fileBatches: new Map() })

interface FileBatchCall {
  readonly head: RequestHead
  readonly route: Route
  readonly content: RequestBody
  readonly memory: FileBatchMemory & { readonly files: Map<string, StoredFile> }
  readonly ids: Ids
  readonly now: number
  readonly run: RunRequest
}

type FileBatchAnswer = { readonly json: JsonObject } | { readonly error: WireError }

const invalid = (message: string, param?: string): FileBatchAnswer => ({
  error: invalidRequest(400, message, param === undefined ? {} : { param }),
})

const endpoints: Readonly<Record<string, FakeFormat>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
}

/** Handles a call about OpenAI's batches. The first retrieval of a batch finds it in progress, the second one completed. */
export function serveFileBatch(call: FileBatchCall): FileBatchAnswer {
  const { head, route, memory, now } = call
  const { item: id } = route
  if (id === undefined) return head.method === 'POST' ? create(call) : list(call)
  const batch = memory.fileBatches.get(id)
  if (batch === undefined) return { error: invalidRequest(404, `No batch found with id '${id}'.`) }
  const seconds = Math.floor(now / 1000)
  let next = batch
  if (head.path.endsWith('/cancel')) {
    if (batch.status !== 'validating' && batch.status !== 'in_progress')
      return { error: invalidRequest(409, `Cannot cancel a batch with status '${asString(batch.status)}'.`) }
    next = { ...batch, status: 'cancelling', cancelling_at: seconds }
  } else if (batch.status === 'validating') next = { ...batch, status: 'in_progress', in_progress_at: seconds }
  else if (batch.status === 'cancelling') next = { ...batch, status: 'cancelled', cancelled_at: seconds }
  else if (batch.status === 'in_progress') next = complete(call, batch)
  memory.fileBatches.set(id, next)
  return { json: next }
}

function create({ content, memory, ids, now }: FileBatchCall): FileBatchAnswer {
  const body = isObject(content.json) ? content.json : {}
  const known = ['input_file_id', 'endpoint', 'completion_window', 'metadata', 'output_expires_after']
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined) return invalid(`Unknown parameter: '${unknown}'.`, unknown)
  const { input_file_id: file, endpoint, completion_window: window, metadata = null } = body
  if (typeof file !== 'string') return invalid("Missing required parameter: 'input_file_id'.", 'input_file_id')
  if (typeof endpoint !== 'string' || !Object.hasOwn(endpoints, endpoint))
    return invalid(`Invalid value: '${asString(endpoint)}'.`, 'endpoint')
  if (window !== '24h') return invalid("Invalid value for 'completion_window': expected '24h'.", 'completion_window')
  const stored = memory.files.get(file)
  if (stored === undefined) return invalid(`Invalid file ID: ${file}.`, 'input_file_id')
  if (stored.object.purpose !== 'batch')
    return invalid(`Invalid file purpose: expected 'batch', got '${asString(stored.object.purpose)}'.`, 'input_file_id')
  const id = `batch_${ids.letters(24).replace(/[^a-zA-Z0-9]/g, 'x')}`
  const created = Math.floor(now / 1000)
  const object: JsonObject = {
    id,
    object: 'batch',
    endpoint,
    errors: null,
    input_file_id: file,
    completion_window: window,
    status: 'validating',
    output_file_id: null,
    error_file_id: null,
    created_at: created,
    in_progress_at: null,
    expires_at: created + 86_400,
    finalizing_at: null,
    completed_at: null,
    failed_at: null,
    expired_at: null,
    cancelling_at: null,
    cancelled_at: null,
    request_counts: { total: 0, completed: 0, failed: 0 },
    metadata,
  }
  memory.fileBatches.set(id, object)
  return { json: object }
}

function complete({ memory, ids, now, run }: FileBatchCall, batch: JsonObject): JsonObject {
  const format = endpoints[asString(batch.endpoint)] ?? 'chat'
  const text = new TextDecoder().decode(memory.files.get(asString(batch.input_file_id))?.bytes)
  const output: string[] = []
  const errors: string[] = []
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const { custom_id, body = {} } = JSON.parse(line) as { custom_id: string; body?: JsonObject }
    const { status, body: answer } = run(format, body)
    const response = { status_code: status, request_id: ids.requestHex(), body: answer }
    const id = `batch_req_${ids.letters(20).replace(/[^a-zA-Z0-9]/g, 'x')}`
    ;(status === 200 ? output : errors).push(JSON.stringify({ id, custom_id, response, error: null }))
  }
  const save = (lines: readonly string[], name: string): string | null => {
    if (lines.length === 0) return null
    const id = `file-${ids.letters(22).replace(/[^a-zA-Z0-9]/g, 'x')}`
    const bytes = new TextEncoder().encode(`${lines.join('\n')}\n`)
    const created_at = Math.floor(now / 1000)
    memory.files.set(id, {
      format: 'chat',
      object: {
        id,
        object: 'file',
        bytes: bytes.length,
        created_at,
        filename: name,
        purpose: 'batch_output',
        status: 'processed',
      },
      bytes,
      contentType: 'application/jsonl',
    })
    return id
  }
  return {
    ...batch,
    status: 'completed',
    completed_at: Math.floor(now / 1000),
    output_file_id: save(output, 'output.jsonl'),
    error_file_id: save(errors, 'errors.jsonl'),
    request_counts: { total: output.length + errors.length, completed: output.length, failed: errors.length },
  }
}

function list({ head, memory }: FileBatchCall): FileBatchAnswer {
  const limit = Number(new URLSearchParams(head.query).get('limit') ?? 20)
  if (!(limit >= 1 && limit <= 100)) return invalid("Invalid value for 'limit'.", 'limit')
  const all = [...memory.fileBatches.values()].reverse()
  const data = all.slice(0, limit)
  return {
    json: {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: all.length > limit,
    },
  }
}
