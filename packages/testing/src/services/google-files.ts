import { asString, isObject, type JsonObject } from '../base/json.ts'
import type { Ids } from '../base/random.ts'
import type { RequestHead } from '../formats/dialect.ts'
import type { Route } from '../formats/route.ts'
import type { WireError } from '../wire/errors.ts'
import type { RequestBody } from '../wire/request-body.ts'

/** Files of Google's API by id, and uploads that are not complete. */
export interface GoogleFileMemory {
  readonly googleFiles: Map<string, JsonObject>
  readonly uploads: Map<string, Upload>
}

interface Upload {
  readonly file: JsonObject
  readonly mimeType: string
  size: number
}

export const createGoogleFileMemory = (): GoogleFileMemory => ({ googleFiles: new Map(), uploads: new Map() })

interface GoogleFileCall {
  readonly origin: string
  readonly head: RequestHead
  readonly route: Route
  readonly content: RequestBody
  readonly memory: GoogleFileMemory
  readonly ids: Ids
  readonly now: number
}

type GoogleFileAnswer =
  | { readonly json: JsonObject; readonly headers?: Readonly<Record<string, string>> }
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly error: WireError; readonly headers?: Readonly<Record<string, string>> }

const invalid = (message: string, headers: Readonly<Record<string, string>> = {}): GoogleFileAnswer => ({
  error: { status: 400, type: 'INVALID_ARGUMENT', message },
  headers,
})

/** Google does not tell a missing file from one of another account. */
const missing = (id: string): GoogleFileAnswer => ({
  error: {
    status: 403,
    type: 'PERMISSION_DENIED',
    message: `You do not have permission to access the File ${id} or it may not exist.`,
  },
})

/** Handles a call about Google's files. */
export function serveGoogleFile(call: GoogleFileCall): GoogleFileAnswer {
  const { head, route, memory } = call
  if (head.path.startsWith('/upload/'))
    return new URLSearchParams(head.query).has('upload_id') ? continueUpload(call) : startUpload(call)
  const { item: id } = route
  if (id === undefined) {
    const size = Number(new URLSearchParams(head.query).get('pageSize') ?? 10)
    if (!(size >= 1 && size <= 100)) return invalid('page_size must be between 1 and 100.')
    const files = [...memory.googleFiles.values()].reverse().slice(0, size)
    return { json: files.length === 0 ? {} : { files } }
  }
  const file = memory.googleFiles.get(id)
  if (file === undefined) return missing(id)
  if (head.method !== 'DELETE') return { json: file }
  memory.googleFiles.delete(id)
  return { json: {} }
}

function startUpload({ origin, head, content, memory, ids }: GoogleFileCall): GoogleFileAnswer {
  const { headers } = head
  if (headers['x-goog-upload-protocol'] !== 'resumable' || headers['x-goog-upload-command'] !== 'start')
    return invalid('Upload request must have the protocol resumable and the command start.')
  const body = isObject(content.json) ? content.json : {}
  const unknown = Object.keys(body).find((name) => name !== 'file')
  if (unknown !== undefined)
    return invalid(`Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`)
  const file = isObject(body.file) ? body.file : {}
  const mimeType = asString(file.mimeType) || headers['x-goog-upload-header-content-type'] || ''
  if (mimeType === '') return invalid('* CreateFileRequest.file.mime_type: must be specified')
  const name = asString(file.name).replace(/^files\//, '')
  if (name !== '' && !/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name))
    return invalid('* CreateFileRequest.file.name: is not a valid file name')
  if (memory.googleFiles.has(name))
    return { error: { status: 409, type: 'ALREADY_EXISTS', message: 'Requested entity already exists' } }
  const id = `AJRbA5${ids.letters(60).replace(/[^a-zA-Z0-9]/g, 'x')}`
  memory.uploads.set(id, { file, mimeType, size: 0 })
  return {
    headers: {
      'x-goog-upload-url': `${origin}${head.path}?upload_id=${id}&upload_protocol=resumable`,
      'x-goog-upload-status': 'active',
      'x-goog-upload-chunk-granularity': '8388608',
    },
  }
}

function continueUpload({ head, content, memory, ids, now }: GoogleFileCall): GoogleFileAnswer {
  const id = new URLSearchParams(head.query).get('upload_id') ?? ''
  const upload = memory.uploads.get(id)
  if (upload === undefined) return { error: { status: 404, type: 'NOT_FOUND', message: 'Invalid upload id.' } }
  const commands = (head.headers['x-goog-upload-command'] ?? '').split(',').map((one) => one.trim())
  if (commands.includes('cancel')) {
    memory.uploads.delete(id)
    return { headers: { 'x-goog-upload-status': 'cancelled' } }
  }
  const active = (): Readonly<Record<string, string>> => ({
    'x-goog-upload-status': 'active',
    'x-goog-upload-size-received': String(upload.size),
  })
  if (commands.includes('query')) return { headers: active() }
  if (!commands.includes('upload') && !commands.includes('finalize'))
    return invalid('Invalid upload command.', active())
  if (commands.includes('upload')) {
    if (Number(head.headers['x-goog-upload-offset']) !== upload.size)
      return invalid(`Invalid upload offset: expected ${upload.size}.`, active())
    upload.size += content.bytes.length
  }
  if (!commands.includes('finalize')) return { headers: active() }
  memory.uploads.delete(id)
  const { file, mimeType, size } = upload
  const name = asString(file.name).replace(/^files\//, '') || ids.lower(12)
  const time = new Date(now).toISOString()
  const created: JsonObject = {
    name: `files/${name}`,
    ...(file.displayName === undefined ? {} : { displayName: file.displayName }),
    mimeType,
    sizeBytes: String(size),
    createTime: time,
    updateTime: time,
    expirationTime: new Date(now + 48 * 60 * 60 * 1000).toISOString(),
    sha256Hash: 'aGFzaA==',
    uri: `https://generativelanguage.googleapis.com/v1beta/files/${name}`,
    state: 'ACTIVE',
    source: 'UPLOADED',
  }
  memory.googleFiles.set(name, created)
  return { json: { file: created }, headers: { 'x-goog-upload-status': 'final' } }
}
