import { newId } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { admissionHeaders, idHeaders, json, notCached } from '../../calls/reply.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import type { Inbound, Reply } from '../../http/inbound.ts'
import { redact } from '../../upstreams/redaction/redactor.ts'
import type { RoutedCall } from '../route.ts'
import { type ObjectCall, streamOf } from './object-call.ts'
import { saveOrUndo } from './save-owner.ts'
import { type ObjectRequest, type ObjectUpstream, parseObject, type RawResponse, requestRaw } from './send.ts'

// Google's resumable upload: the first request describes the file, and its response has the URL for the content. The client receives a
// URL of the gateway with an id of its own: the upstream's URL is a credential for the upload, and stays in the store.

const possibleUpload = /^[\w-]{1,100}$/

/** Returns the id of the upload that a request continues; undefined for a request that begins one. */
export const uploadIdOf = ({ query }: Pick<Inbound, 'query'>): string | undefined =>
  new URLSearchParams(query).get('upload_id') ?? undefined

/** Begins an upload. */
export async function startUpload(
  { call, dialect, records }: ObjectCall,
  target: ObjectUpstream,
  request: RequestBody,
): Promise<Reply> {
  const { inbound, shared } = call
  checkStart(inbound, request.value, shared.limits.uploadBytes)
  const response = await requestRaw(call, target, {
    method: 'POST',
    path: `/upload${target.path}`,
    headers: { 'content-type': 'application/json', ...passedUploadHeaders(inbound) },
    // The member is written again: of duplicate members, the upstream could read one that the gateway has not checked.
    body: stringifyExact(request.value),
    outlivesClient: true,
  })
  const url = uploadUrlOf(response.header('x-goog-upload-url'))
  const id = newId('upload_')
  await records.objects.save('uploads', {
    id,
    upstream: target.name,
    createdAt: Date.now(),
    fields: { path: url.pathname, query: url.search.slice(1), prefix: dialect.prefix ?? '' },
  })
  const reply = uploadReply(call, target, { ...response, bytes: new Uint8Array(0) })
  reply.headers['x-goog-upload-url'] = `${originOf(inbound)}${inbound.path}?upload_id=${id}&upload_protocol=resumable`
  return reply
}

/** Sends a part of a file, asks for the state of an upload, or cancels it. */
export async function continueUpload(
  { call, kind, records }: ObjectCall,
  upstreamOf: (name: string) => ObjectUpstream | undefined,
): Promise<Reply> {
  const { inbound, shared, record } = call
  const id = uploadIdOf(inbound) ?? ''
  const upload = possibleUpload.test(id) ? await records.objects.find('uploads', id) : undefined
  const target = upload === undefined ? undefined : upstreamOf(upload.upstream)
  if (upload === undefined || target === undefined)
    throw new GatewayError('not_found', `No upload with id '${id.slice(0, 100)}' found.`)
  const { path = '', query = '', prefix = '' } = upload.fields ?? {}
  const limits = { ...shared.limits, uploadBytes: shared.limits.uploadBytes - offsetOf(inbound) }
  if (limits.uploadBytes < 0) throw tooLarge(shared.limits.uploadBytes)
  const length = inbound.header('content-length')
  const origin = { ...target.upstream, baseURL: new URL(target.upstream.baseURL).origin }
  let hasEnded = false
  const forget = (): Promise<void> => records.objects.delete('uploads', [id])
  const response = await requestRaw(
    call,
    { ...target, upstream: origin },
    {
      method: 'POST',
      path,
      query,
      // The response to the last part names the file.
      outlivesClient: true,
      onRejected: (rejection) => {
        hasEnded = endsUpload(rejection)
      },
      headers: {
        'content-type': 'application/octet-stream',
        ...passedUploadHeaders(inbound),
        ...(length === undefined ? {} : { 'content-length': length }),
      },
      body: streamOf(record.capture?.watchRequest(inbound) ?? inbound, limits),
    },
  ).catch(async (error: unknown) => {
    // The record expires anyway: the upstream's error is what the client has to know.
    if (hasEnded) await forget().catch(() => {})
    throw error
  })
  const status = response.header('x-goog-upload-status')
  try {
    if (status === 'final' && response.bytes.length > 0)
      await saveFile({ call, kind, records }, target, prefix, response)
  } finally {
    if (status !== 'active') await forget()
  }
  return uploadReply(call, target, response)
}

/** Statuses of errors after which a client may continue an upload: rejected credentials, timeouts and too many requests. */
const passingStatuses: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

/** Returns whether an error of the upstream ends an upload. Errors of its servers do not, and neither do errors that call it active. */
function endsUpload(response: Parameters<NonNullable<ObjectRequest['onRejected']>>[0]): boolean {
  const { status } = response
  const state = response.header('x-goog-upload-status')
  if (state !== undefined) return state !== 'active'
  return status >= 400 && status < 500 && !passingStatuses.has(status)
}

/** Records the owner of a file whose upload is complete. */
async function saveFile(
  { call, kind, records }: Pick<ObjectCall, 'call' | 'kind' | 'records'>,
  target: ObjectUpstream,
  prefix: string,
  { bytes }: RawResponse,
): Promise<void> {
  const { value } = parseObject(bytes, target)
  const { name } = isObject(value.file) ? value.file : ({} as JsonObject)
  // A cancelled upload has no file.
  if (value.file === undefined) return
  if (typeof name !== 'string' || !name.startsWith(prefix) || name.length === prefix.length)
    throw new GatewayError('upstream_bad_response', 'The upstream created a file without a name.')
  const undo = { method: 'DELETE', path: `${target.path}/${encodeURIComponent(name.slice(prefix.length))}` }
  await saveOrUndo({ call, kind }, { target, undo }, () =>
    records.objects.save(kind, { id: name, upstream: target.name, createdAt: Date.now() }),
  )
}

function checkStart(inbound: Inbound, { file }: JsonObject, uploadBytes: number): void {
  const protocol = inbound.header('x-goog-upload-protocol') ?? ''
  const command = inbound.header('x-goog-upload-command') ?? ''
  if (protocol !== 'resumable' || command !== 'start')
    throw new GatewayError(
      'invalid_request',
      "This gateway accepts files by a resumable upload only: send 'x-goog-upload-protocol: resumable' and 'x-goog-upload-command: start', as the official clients do.",
    )
  // Another caller could choose the name again after the file has expired, and the first caller would read the new file.
  if (isObject(file) && file.name !== undefined && file.name !== null && file.name !== '')
    throw new GatewayError(
      'invalid_request',
      "file.name: leave it out. The names of all callers' files share one account, so Google has to choose them.",
      { param: 'file.name' },
    )
  const announced = Number(inbound.header('x-goog-upload-header-content-length') ?? 0)
  if (announced > uploadBytes) throw tooLarge(uploadBytes)
}

const tooLarge = (limit: number): GatewayError =>
  new GatewayError('request_too_large', `The file is larger than the limit of ${limit} bytes.`)

function offsetOf(inbound: Inbound): number {
  const text = inbound.header('x-goog-upload-offset') ?? '0'
  const offset = Number(text)
  if (Number.isSafeInteger(offset) && offset >= 0) return offset
  throw new GatewayError(
    'invalid_request',
    `x-goog-upload-offset is '${text.slice(0, 100)}': send the number of bytes before this part.`,
  )
}

/** Headers that describe an upload, for the upstream. */
const requestHeaderNames = [
  'x-goog-upload-protocol',
  'x-goog-upload-command',
  'x-goog-upload-offset',
  'x-goog-upload-file-name',
  'x-goog-upload-header-content-length',
  'x-goog-upload-header-content-type',
] as const

const passedUploadHeaders = (inbound: Inbound): Record<string, string> =>
  Object.fromEntries(
    requestHeaderNames.flatMap((name) => {
      const value = inbound.header(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** The same for the client. */
const replyHeaderNames = [
  'x-goog-upload-status',
  'x-goog-upload-size-received',
  'x-goog-upload-chunk-granularity',
] as const

function uploadReply({ record }: RoutedCall, target: ObjectUpstream, { header, bytes }: RawResponse): Reply {
  const headers: Record<string, string> = {
    'content-type': json,
    ...notCached,
    ...idHeaders(record.requestId),
    ...admissionHeaders(record),
  }
  for (const name of replyHeaderNames) {
    const value = header(name)
    if (value !== undefined) headers[name] = redact(value, target.upstream)
  }
  return { status: 200, headers, body: bytes.length === 0 ? '' : parseObject(bytes, target).body }
}

/** Only the path and the query of the URL are used: requests with the gateway's credentials go to the configured server alone. */
function uploadUrlOf(text: string | undefined): URL {
  try {
    if (text !== undefined) return new URL(text)
  } catch {
    // The same as without a URL.
  }
  throw new GatewayError('upstream_bad_response', 'The upstream began an upload without a URL for its content.')
}

/** Returns the gateway's address as the client sees it. */
export function originOf(inbound: Inbound): string {
  const first = (name: string): string | undefined => inbound.header(name)?.split(',')[0]?.trim() || undefined
  const [scheme = 'http', host = ''] = (inbound.origin ?? `http://${inbound.header('host') ?? ''}`).split('://')
  const forwarded = first('x-forwarded-proto')
  const isKnown = forwarded === 'http' || forwarded === 'https'
  return `${isKnown ? forwarded : scheme}://${first('x-forwarded-host') ?? host}`
}
