import { createCanceller, monotonicNow, type Signal } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { spliceJson } from '../../base/json/edit.ts'
import { type JsonObject, scanJson } from '../../base/json/json.ts'
import { contentLengthOf, passedHeaders } from '../../calls/passed-bytes.ts'
import { additionalHeaders } from '../../calls/plugin-hooks.ts'
import { relayBytes } from '../../calls/relay-bytes.ts'
import { admissionHeaders, idHeaders, json, notCached } from '../../calls/reply.ts'
import { createPump } from '../../calls/response-body.ts'
import { firstByteTimeout, totalTimeout, truncated } from '../../calls/timeout-errors.ts'
import { isSharedCodec } from '../../formats/codec-registry.ts'
import type { Reply } from '../../http/inbound.ts'
import type { TransportRequest, TransportResponse } from '../../http/transport.ts'
import { parseResponse } from '../../lanes/pass-through.ts'
import { addCredentials, configuredKeyHeaders } from '../../upstreams/outgoing-call.ts'
import { redact, redactorOf } from '../../upstreams/redaction/redactor.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import { readUpstreamError, unreachable } from '../../upstreams/upstream-error.ts'
import type { RoutedCall } from '../route.ts'

/** A request about a stored object, for its upstream. */
export interface ObjectRequest {
  readonly method: string
  /** Path below the base URL of the upstream, encoded. */
  readonly path: string
  /** Query without its question mark. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
  /**
   * The client cannot cancel the request once its body is complete: the upstream would create or change the object all the same, and its
   * owner would not be recorded. Time limits and the gateway's shutdown still end it.
   */
  readonly outlivesClient?: boolean
  /** Called with an error response of the upstream, before its error is thrown. */
  readonly onRejected?: (response: Pick<TransportResponse, 'status' | 'header'>) => void
}

/** The upstream of an object. */
export interface ObjectUpstream {
  readonly name: string
  readonly upstream: Upstream
  /** Path of the kind of object. */
  readonly path: string
}

/** A good response whose body has not been read. */
interface OpenResponse {
  readonly response: TransportResponse
  readonly abort: () => void
  /** Ends the time limit, and the effect of a client that disconnects. */
  readonly release: () => void
  /** Returns the error for a body that could not be read. */
  readonly toError: (cause: unknown) => GatewayError
}

/** Sends a request and returns the good response. Its time limits are those of calls to models; an upload extends the first. */
async function open(
  call: RoutedCall,
  { name, upstream }: ObjectUpstream,
  { method, path, query = '', headers: own = {}, body, outlivesClient = false, onRejected }: ObjectRequest,
): Promise<OpenResponse> {
  const { shared, record, inbound, signal, codec } = call
  if (!isSharedCodec(codec)) throw new TypeError(`No upstream stores objects for the format ${codec.format}`)
  const { firstByteMs } = shared.limits
  const canceller = createCanceller()
  let expired = false
  const expire = (): void => {
    expired = true
    canceller.abort()
  }
  let timer = setTimeout(expire, firstByteMs)
  const onAbort = (): void => {
    if (!(outlivesClient && uploaded.isComplete && isClientGone(signal))) canceller.abort(signal.reason)
  }
  const release = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
  const uploaded: UploadState = {
    isComplete: body === undefined || !isStreamed(body),
    onChunk() {
      clearTimeout(timer)
      timer = setTimeout(expire, firstByteMs)
    },
  }
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    const headers = requestHeadersOf()
    const url = addressOf(upstream, path, query)
    const complete = await addCredentials(upstream, { method, url, headers, body }, canceller)
    const sent: TransportRequest = {
      method,
      url,
      headers: complete,
      signal: canceller,
      // A body that streams from the client exists once, and a creation must not happen twice.
      resend: method === 'GET',
      ...(body === undefined ? {} : { body: isStreamed(body) ? watchUpload(body, uploaded) : body }),
    }
    const response = await call.transport(sent)
    if (response.status < 200 || response.status >= 300) {
      onRejected?.(response)
      throw await readUpstreamError(response, codec, upstream)
    }
    const toError = (cause: unknown): GatewayError => {
      if (expired) return totalTimeout(firstByteMs)
      return canceller.aborted ? inboundAborted(signal) : truncated(cause)
    }
    return { response, abort: () => canceller.abort(), release, toError }
  } catch (cause) {
    release()
    // The client's own failure, such as an upload that is too large, is not that of the upstream.
    if (uploaded.failure !== undefined) throw uploadError(uploaded.failure)
    if (cause instanceof GatewayError) throw cause
    if (expired) throw firstByteTimeout(firstByteMs)
    if (canceller.aborted) throw inboundAborted(signal)
    throw unreachable(cause)
  }

  function requestHeadersOf(): Record<string, string> {
    const headers: Record<string, string> = {
      'accept-encoding': 'identity',
      ...configuredKeyHeaders(upstream, undefined),
    }
    for (const header of upstream.passHeaders) {
      const value = inbound.header(header)
      if (value !== undefined) headers[header] = value
    }
    const log = { upstream: name, model: '', reason: 'first', startedMs: 0 } as const
    return { ...headers, ...additionalHeaders({ shared, inbound, record }, log), ...own }
  }
}

interface UploadState {
  failure?: unknown
  /** The whole body was sent. */
  isComplete: boolean
  onChunk(): void
}

const isStreamed = (body: NonNullable<ObjectRequest['body']>): body is AsyncIterable<Uint8Array> =>
  typeof body === 'object' && Symbol.asyncIterator in body

/** Passes on an upload, and remembers its failure: transports wrap errors of a body in their own. */
async function* watchUpload(body: AsyncIterable<Uint8Array>, state: UploadState): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      state.onChunk()
      yield chunk
    }
    state.isComplete = true
  } catch (cause) {
    state.failure = cause
    throw cause
  }
}

const uploadError = (cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : new GatewayError('cancelled', 'The upload ended before it was complete.', { cause })

/** Returns whether a call was aborted by its client, not by the gateway. */
const isClientGone = ({ reason }: Signal): boolean =>
  !(reason instanceof GatewayError) || reason.info.kind === 'cancelled'

const inboundAborted = ({ reason }: Signal): GatewayError =>
  reason instanceof GatewayError ? reason : new GatewayError('cancelled', 'The client disconnected.')

function addressOf({ baseURL, query: configured }: Upstream, path: string, query: string): string {
  const queries = [configured?.slice(1) ?? '', query].filter((text) => text !== '')
  return `${baseURL}${path}${queries.length === 0 ? '' : `?${queries.join('&')}`}`
}

/** A JSON response about an object, and its bytes for the client. */
export interface ObjectResponse {
  readonly value: JsonObject
  readonly body: string | Uint8Array
}

/** Sends a request whose response is JSON. */
export async function requestJson(
  call: RoutedCall,
  target: ObjectUpstream,
  request: ObjectRequest,
): Promise<ObjectResponse> {
  const { bytes } = await requestRaw(call, target, request)
  return parseObject(bytes, target)
}

/** Parses a JSON response about an object. */
export function parseObject(bytes: Uint8Array, { upstream }: ObjectUpstream): ObjectResponse {
  const { value, body } = parseResponse(bytes, redactorOf(upstream))
  return { value, body }
}

/** Returns the bytes of a response with other values of some members. */
export function withMembers({ body }: ObjectResponse, members: JsonObject): string | Uint8Array {
  if (Object.keys(members).length === 0) return body
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  return spliceJson(text, scanJson(text, Number.POSITIVE_INFINITY).members, members)
}

/** A whole response about an object, with its headers. */
export interface RawResponse {
  readonly header: TransportResponse['header']
  readonly bytes: Uint8Array
}

/** Sends a request whose response has headers for the client. Its body may be empty. */
export async function requestRaw(
  call: RoutedCall,
  target: ObjectUpstream,
  request: ObjectRequest,
): Promise<RawResponse> {
  const { response, release, toError } = await open(call, target, request)
  try {
    const bytes = await response.bytes(call.shared.limits.answerBytes).catch((cause: unknown) => {
      throw toError(cause)
    })
    return { header: (name) => response.header(name), bytes }
  } finally {
    release()
  }
}

/**
 * Sends a request whose response is the content of an object, for the gateway itself.
 *
 * @param totalMs time limit for the whole content
 */
export async function openContent(
  call: RoutedCall,
  target: ObjectUpstream,
  request: ObjectRequest,
  totalMs: number,
): Promise<{ readonly stream: AsyncIterable<Uint8Array>; readonly close: () => void }> {
  const { response, abort, release } = await open(call, target, request)
  const timer = setTimeout(abort, totalMs)
  const close = (): void => {
    clearTimeout(timer)
    release()
    // Ends a stream that was not read to its end; does nothing otherwise.
    abort()
  }
  return { stream: response.stream(), close }
}

/**
 * Sends a request whose response is the content of an object. It streams to the client.
 *
 * @param check called before any content is read. If it rejects, the client receives its error and no content
 */
export async function relayContent(
  call: RoutedCall,
  target: ObjectUpstream,
  request: ObjectRequest,
  check?: () => Promise<void>,
): Promise<Reply> {
  const { shared, record, signal, inbound, end } = call
  const startedAt = monotonicNow()
  const { response, abort, release } = await open(call, target, request)
  release()
  try {
    await check?.()
  } catch (error) {
    abort()
    throw error
  }
  const { idleMs, totalMs, clientStallMs } = shared.limits
  const length = contentLengthOf(response)
  const times = {
    startedAt,
    idleMs,
    totalUntil: startedAt + totalMs,
    clientStallMs: inbound.watchClient === undefined ? clientStallMs : Number.POSITIVE_INFINITY,
  }
  const headers = Object.entries(passedHeaders(response, length)).map(([name, value]) => [
    name,
    redact(value, target.upstream),
  ])
  const body = relayBytes(createPump(response.stream()), length, times, signal, ({ outcome, error }) => {
    if (outcome !== 'finished') abort()
    end(error === undefined ? { status: 200, outcome } : { status: 200, outcome, error })
  })
  record.capture?.watchBytes(body, response.header('content-type') ?? '')
  return {
    status: 200,
    headers: {
      ...Object.fromEntries(headers),
      ...notCached,
      // An uploaded page must not run as a page of the gateway's origin.
      'content-disposition': 'attachment',
      ...idHeaders(record.requestId),
      ...admissionHeaders(record),
    },
    body,
  }
}

/** The reply with a JSON response. */
export const objectReply = ({ record }: Pick<RoutedCall, 'record'>, body: string | Uint8Array): Reply => ({
  status: 200,
  headers: { 'content-type': json, ...notCached, ...idHeaders(record.requestId), ...admissionHeaders(record) },
  body,
})
