import { isObject, type JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { RequestHead } from '../formats/dialect.ts'
import type { Route } from '../formats/route.ts'
import { invalidRequest, type WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'
import { createFileBatchMemory, type FileBatchMemory, serveFileBatch } from './file-batches.ts'
import { createGoogleCacheMemory, type GoogleCacheMemory, serveGoogleCache } from './google-caches.ts'
import { createGoogleFileMemory, type GoogleFileMemory, serveGoogleFile } from './google-files.ts'
import {
  createMessageBatchMemory,
  type MessageBatchMemory,
  type RunRequest,
  serveMessageBatch,
} from './message-batches.ts'
import { createRealtimeCallMemory, type RealtimeCallMemory, serveRealtimeCall } from './realtime-calls.ts'
import { createSkillMemory, type SkillMemory, serveSkill, skillPath } from './skills.ts'
import type { StoredFile } from './stored-file.ts'

/** Files and conversations that clients have created, by id. */
export interface ObjectMemory
  extends GoogleFileMemory,
    GoogleCacheMemory,
    MessageBatchMemory,
    FileBatchMemory,
    RealtimeCallMemory,
    SkillMemory {
  readonly files: Map<string, StoredFile>
  readonly conversations: Map<string, StoredConversation>
}

interface StoredConversation {
  object: JsonObject
  items: JsonObject[]
}

export const createObjectMemory = (): ObjectMemory => ({
  files: new Map(),
  conversations: new Map(),
  ...createGoogleFileMemory(),
  ...createGoogleCacheMemory(),
  ...createMessageBatchMemory(),
  ...createFileBatchMemory(),
  ...createRealtimeCallMemory(),
  ...createSkillMemory(),
})

/** A call about stored objects. */
export interface ObjectCall {
  /** Scheme and host of the request. */
  readonly origin: string
  readonly head: RequestHead
  readonly route: Route
  readonly content: RequestBody
  readonly memory: ObjectMemory
  readonly ids: Ids
  readonly now: number
  readonly exists: (model: string) => boolean
  readonly run: RunRequest
}

/** A JSON body, a text, the content of a file, or an error. */
export type ObjectAnswer =
  | { readonly json: JsonObject; readonly headers?: Readonly<Record<string, string>> }
  | { readonly text: string; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly content: Uint8Array<ArrayBuffer>; readonly contentType: string }
  | { readonly error: WireError; readonly headers?: Readonly<Record<string, string>> }

const paths =
  /^\/(files|conversations|cachedContents|messages\/batches|batches|realtime\/calls)(?:\/([^/]+))?(?:\/(content|items|cancel|results|accept|hangup|refer|reject)(?:\/([^/]+))?)?$/

/** The methods of each path: kind, with an id, the part below it, with an item. */
/** Google's methods: files are created at another path. */
const googleMethods: Readonly<Record<string, readonly string[]>> = {
  'upload/files': ['POST'],
  files: ['GET'],
  'files/id': ['GET', 'DELETE'],
  cachedContents: ['POST', 'GET'],
  'cachedContents/id': ['GET', 'PATCH', 'DELETE'],
}

const methods: Readonly<Record<string, readonly string[]>> = {
  files: ['POST', 'GET'],
  'files/id': ['GET', 'DELETE'],
  'files/id/content': ['GET'],
  batches: ['POST', 'GET'],
  'batches/id': ['GET'],
  'batches/id/cancel': ['POST'],
  'messages/batches': ['POST', 'GET'],
  'messages/batches/id': ['GET', 'DELETE'],
  'messages/batches/id/cancel': ['POST'],
  'messages/batches/id/results': ['GET'],
  'realtime/calls': ['POST'],
  'realtime/calls/id/accept': ['POST'],
  'realtime/calls/id/hangup': ['POST'],
  'realtime/calls/id/refer': ['POST'],
  'realtime/calls/id/reject': ['POST'],
  conversations: ['POST'],
  'conversations/id': ['GET', 'POST', 'DELETE'],
  'conversations/id/items': ['GET', 'POST'],
  'conversations/id/items/item': ['GET', 'DELETE'],
}

/** Returns the parts of a path of stored objects; undefined for other paths and methods. */
export function objectPath(
  path: string,
  method: string,
  isGoogle = false,
): { readonly kind: string; readonly id?: string; readonly below?: string; readonly item?: string } | undefined {
  const skill = isGoogle ? undefined : skillPath(path, method)
  if (skill !== undefined) return { kind: 'skills', ...skill }
  const upload = isGoogle && path.startsWith('/upload/') ? 'upload' : ''
  const [, kind, id, below, item] = paths.exec(path.slice(upload === '' ? 0 : '/upload'.length)) ?? []
  if (kind === undefined) return undefined
  const shape = [upload, kind, id && 'id', below, item && 'item'].filter(Boolean).join('/')
  if ((isGoogle ? googleMethods : methods)[shape]?.includes(method) !== true) return undefined
  return {
    kind,
    ...(id === undefined ? {} : { id }),
    ...(below === undefined ? {} : { below }),
    ...(item === undefined ? {} : { item }),
  }
}

/** Handles a call about stored objects, as strictly as the providers. */
export function serveObject(call: ObjectCall): ObjectAnswer {
  if (call.route.action === 'batches') return serveFileBatch(call)
  if (call.route.action === 'messages/batches') return serveMessageBatch(call)
  if (call.route.action === 'skills') return serveSkill(call)
  if (call.route.action === 'realtime/calls') return serveRealtimeCall(call)
  if (call.route.action === 'cachedContents') return serveGoogleCache(call)
  if (call.route.format === 'gemini') return serveGoogleFile(call)
  return call.route.action === 'files' ? serveFile(call) : serveConversation(call)
}

const notFound = (what: string): ObjectAnswer => ({ error: invalidRequest(404, `No such ${what}`) })
const invalid = (message: string, param?: string): ObjectAnswer => ({
  error: invalidRequest(400, message, param === undefined ? {} : { param }),
})

function serveFile({ head, route, content, memory, ids, now }: ObjectCall): ObjectAnswer {
  const { files } = memory
  const { format, item: id } = route
  const isAnthropic = format === 'messages'
  if (id === undefined)
    return head.method === 'POST' ? createFile(content, format, files, ids, now) : listFiles(head, format, files)
  const file = files.get(id)
  if (file === undefined || file.format !== format) return notFound(`File object: ${id}`)
  if (head.method === 'DELETE') {
    files.delete(id)
    return { json: isAnthropic ? { id, type: 'file_deleted' } : { id, object: 'file', deleted: true } }
  }
  return head.path.endsWith('/content') ? { content: file.bytes, contentType: file.contentType } : { json: file.object }
}

function createFile(
  { form }: RequestBody,
  format: Route['format'],
  files: ObjectMemory['files'],
  ids: Ids,
  now: number,
): ObjectAnswer {
  if (form === undefined) return invalid('Could not parse multipart form')
  const unknown = form.find(
    ({ name }) =>
      !['file', 'purpose', 'expires_after[anchor]', 'expires_after[seconds]', 'expires_in_seconds'].includes(name),
  )
  if (unknown !== undefined) return invalid(`Unrecognized form field: ${unknown.name}`, unknown.name)
  const file = form.find(({ name }) => name === 'file')
  if (file?.filename === undefined) return invalid("'file' is a required property", 'file')
  const { bytes, filename, contentType } = file
  const purpose = form.find(({ name }) => name === 'purpose')
  const created = Math.floor(now / 1000)
  if (format === 'messages') {
    if (purpose !== undefined) return invalid('purpose: Extra inputs are not permitted')
    const id = `file_011${ids.letters(20).replace(/[^a-zA-Z0-9]/g, 'x')}`
    const object = {
      id,
      type: 'file',
      filename,
      mime_type: contentType,
      size_bytes: bytes.length,
      created_at: new Date(now).toISOString(),
      downloadable: true,
    }
    files.set(id, { format, object, bytes: new Uint8Array(bytes), contentType })
    return { json: object }
  }
  if (purpose === undefined) return invalid("'purpose' is a required property", 'purpose')
  const id = `file-${ids.letters(22).replace(/[^a-zA-Z0-9]/g, 'x')}`
  const object = {
    id,
    object: 'file',
    bytes: bytes.length,
    created_at: created,
    filename,
    purpose: new TextDecoder().decode(purpose.bytes),
    status: 'processed',
  }
  files.set(id, { format, object, bytes: new Uint8Array(bytes), contentType })
  return { json: object }
}

/** All files of the account, the newest first. */
function listFiles({ query }: RequestHead, format: Route['format'], files: ObjectMemory['files']): ObjectAnswer {
  const purpose = new URLSearchParams(query).get('purpose')
  const data = [...files.values()]
    .filter((file) => file.format === format && (purpose === null || file.object.purpose === purpose))
    .map(({ object }) => object)
    .reverse()
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: false }
  return { json: format === 'messages' ? { data, ...ends, next_page: null } : { object: 'list', data, ...ends } }
}

function serveConversation({ head, route, content, memory, ids, now }: ObjectCall): ObjectAnswer {
  const { conversations } = memory
  const { item: id } = route
  const body = isObject(content.json) ? content.json : {}
  const withIds = (items: unknown): JsonObject[] =>
    (Array.isArray(items) ? items : []).map((item: JsonObject) => ({
      id: ids.item('msg'),
      status: 'completed',
      ...item,
    }))
  if (id === undefined) {
    const unknown = Object.keys(body).find((name) => name !== 'items' && name !== 'metadata')
    if (unknown !== undefined) return invalid(`Unknown parameter: '${unknown}'.`, unknown)
    const created = ids.item('conv')
    const object = {
      id: created,
      object: 'conversation',
      created_at: Math.floor(now / 1000),
      metadata: body.metadata ?? {},
    }
    conversations.set(created, { object, items: withIds(body.items) })
    return { json: object }
  }
  const found = conversations.get(id)
  if (found === undefined) return notFound(`conversation: ${id}`)
  const [, below, item] = /\/(items)(?:\/([^/]+))?$/.exec(head.path) ?? []
  if (below === undefined) {
    if (head.method === 'DELETE') {
      conversations.delete(id)
      return { json: { id, object: 'conversation.deleted', deleted: true } }
    }
    if (head.method === 'POST') {
      if (!isObject(body.metadata)) return invalid("Missing required parameter: 'metadata'.", 'metadata')
      found.object = { ...found.object, metadata: body.metadata }
    }
    return { json: found.object }
  }
  if (item !== undefined) {
    const one = found.items.find((each) => each.id === item)
    if (one === undefined) return notFound(`item: ${item}`)
    if (head.method !== 'DELETE') return { json: one }
    found.items = found.items.filter((each) => each !== one)
    return { json: found.object }
  }
  let data = [...found.items].reverse()
  if (head.method === 'POST') {
    if (!Array.isArray(body.items)) return invalid("Missing required parameter: 'items'.", 'items')
    data = withIds(body.items)
    found.items.push(...data)
  }
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: false }
  return { json: { object: 'list', data, ...ends } }
}
