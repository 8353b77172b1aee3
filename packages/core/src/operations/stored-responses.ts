import type { CallRecord } from '../accounting/call-record.ts'
import { createCanceller, type Signal } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { type Json, type JsonObject, stringifyExact } from '../base/json/json.ts'
import { admitWithoutModel } from '../calls/admit-without-model.ts'
import type { GatewayContext } from '../calls/call.ts'
import { admissionHeaders, idHeaders, json, notCached } from '../calls/reply.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { WireCodec } from '../formats/codec.ts'
import { isSharedCodec, wireCodecs } from '../formats/codec-registry.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import { type ParsedResponse, parseResponse } from '../lanes/pass-through.ts'
import { addCredentials, configuredKeyHeaders } from '../upstreams/outgoing-call.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { readUpstreamError, toClientError, unreachable } from '../upstreams/upstream-error.ts'
import { isReserved, isRunning, settleBackground } from './responses/background.ts'
import {
  type CallerRecords,
  type ForwardedResponse,
  foreignRecord,
  itemId,
  type KeptResponse,
  outputItems,
} from './responses/records.ts'
import type { ResolvedRequest } from './responses/resolve-references.ts'
import type { Handler, Route, RoutedCall } from './route.ts'

export interface StoredCall {
  readonly route: Route
  readonly id: string
  readonly inbound: Inbound
  readonly records: CallerRecords
  readonly upstreams: GatewayConfig['upstreams']
  readonly transport: Transport
  readonly signal: Signal
  readonly shared: GatewayContext
  readonly record: CallRecord
}

export const handleStoredResponse: Handler = async ({ snapshot: setup, params, ...call }) => {
  const { upstreams } = setup.config
  const records = await setup.recordsOf(call.record.identity)
  return storedResponse({ ...call, id: params.id ?? '', records, upstreams })
}

/** Handles GET and DELETE of a stored response, its input items, and its cancellation. Requests for responses that an upstream stores are forwarded. */
async function storedResponse(call: StoredCall): Promise<Reply> {
  await admitWithoutModel(call)
  return await respond(call, await call.records.response(call.id))
}

async function respond(call: StoredCall, stored: Awaited<ReturnType<CallerRecords['response']>>): Promise<Reply> {
  const { id, route, records } = call
  if (stored === undefined || stored === foreignRecord) throw notFound(id)
  if (stored.kind === 'forwarded') return forward(call, stored)
  const query = new URLSearchParams(call.inbound.query)
  switch (route.operation) {
    case 'delete-response':
      await records.delete(id, stored, outputItems(stored.response))
      return reply(call, { id, object: 'response', deleted: true })
    case 'list-input-items':
      return reply(call, listItems(stored, query))
    case 'cancel-response':
      throw new GatewayError('invalid_request', 'Only responses with background set to true can be cancelled.')
    default:
      if (query.get('stream') === 'true')
        throw new GatewayError('invalid_request', 'stream: a stored response cannot be streamed.', { param: 'stream' })
      return reply(call, stored.response)
  }
}

const notFound = (id: string): GatewayError =>
  new GatewayError('not_found', `Response with id '${id.slice(0, 100)}' not found.`)

const reply = (call: StoredCall, body: JsonObject): Reply => jsonReplyOf(call, stringifyExact(body))

const jsonReplyOf = ({ record }: StoredCall, body: string | Uint8Array): Reply => ({
  status: 200,
  headers: { 'content-type': json, ...notCached, ...idHeaders(record.requestId), ...admissionHeaders(record) },
  body,
})

/** Returns a page of the call's own input items, the newest first by default. */
function listItems({ input }: KeptResponse, query: URLSearchParams): JsonObject {
  const limit = Number(query.get('limit') ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    throw new GatewayError('invalid_request', `limit is '${query.get('limit')}': write a number from 1 to 100.`, {
      param: 'limit',
    })
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc')
    throw new GatewayError('invalid_request', `order is '${order}': write 'asc' or 'desc'.`, { param: 'order' })
  const sorted = order === 'asc' ? [...input] : [...input].reverse()
  const after = query.get('after')
  const from = after === null ? 0 : sorted.findIndex((item) => itemId(item) === after) + 1
  const page: Json[] = sorted.slice(from, from + limit)
  const nameOf = (item: Json | undefined): Json => (item === undefined ? null : (itemId(item) ?? null))
  return {
    object: 'list',
    data: page,
    first_id: nameOf(page[0]),
    last_id: nameOf(page.at(-1)),
    has_more: from + limit < sorted.length,
  }
}

async function forward(call: StoredCall, stored: ForwardedResponse): Promise<Reply> {
  const { id, route, inbound, records } = call
  const { upstream, codec, path } = storeOf(call, stored)
  const behind = route.path.slice(route.path.indexOf('}') + 1)
  const query = passedQuery(inbound.query)
  // Afterwards, its usage cannot be read any more.
  if (
    route.operation === 'delete-response' &&
    (await fetchAndSettle(call, stored)) === 'running' &&
    isReserved(stored.work)
  )
    throw new GatewayError('invalid_request', `Response '${id}' is still running. Cancel it before you delete it.`)
  const url = addressOf(upstream, `${path}/${encodeURIComponent(id)}${behind}`, query)
  const { value, body } = await requestUpstream(call, upstream, codec, route.method, url)
  if (route.operation === 'delete-response' && value.deleted === true)
    await records.delete(id, { kind: 'forwarded', owner: records.owner, upstream: stored.upstream }, [])
  if (value.object === 'response') await settleBackground(call, codec, id, stored, value)
  return jsonReplyOf(call, body)
}

/** Returns where an upstream stores a response. */
function storeOf({ id, route, upstreams }: StoringPlace, stored: ForwardedResponse) {
  const upstream = upstreams[stored.upstream]
  const codec = wireCodecs[route.format]
  const path = upstream === undefined || !isSharedCodec(codec) ? undefined : upstream.formats[codec.format]
  if (upstream === undefined || !isSharedCodec(codec) || path === undefined) throw notFound(id)
  return { upstream, codec, path }
}

type StoringPlace = Pick<StoredCall, 'id' | 'route' | 'upstreams'>
type UpstreamCall = Pick<StoredCall, 'transport' | 'shared' | 'signal'>

/** Settles a background response that a request continues: it would have its output without fetching it. */
export async function settlePrevious(
  { snapshot, route, shared, record, transport, signal }: RoutedCall,
  records: CallerRecords,
  { id, stored }: NonNullable<ResolvedRequest['unsettled']>,
): Promise<void> {
  const { upstreams } = snapshot.config
  await fetchAndSettle({ id, route, upstreams, shared, record, records, transport, signal }, stored)
}

/** A call, or the gateway when it polls, that fetches a response from its upstream. */
export interface PollingCall extends StoringPlace, UpstreamCall, Pick<StoredCall, 'records'> {
  readonly record: Pick<CallRecord, 'identity' | 'format'>
}

/**
 * Settles a background response if it has ended. A response that its upstream no longer has stays as it is.
 *
 * @returns `'running'` if a later call can settle it; `'ended'` also if it was settled before, or its upstream no longer has it
 */
export async function fetchAndSettle(call: PollingCall, stored: ForwardedResponse): Promise<'running' | 'ended'> {
  if (stored.work === undefined) return 'ended'
  const { upstream, codec, path } = storeOf(call, stored)
  const url = addressOf(upstream, `${path}/${encodeURIComponent(call.id)}`, '')
  try {
    const { value } = await requestUpstream(call, upstream, codec, 'GET', url)
    await settleBackground(call, codec, call.id, stored, value)
    return isRunning(value) ? 'running' : 'ended'
  } catch (error) {
    if (!(error instanceof GatewayError && error.info.status === 404)) throw error
    return 'ended'
  }
}

function addressOf({ baseURL, query }: Upstream, path: string, search: string): string {
  if (query === undefined) return `${baseURL}${path}${search}`
  return `${baseURL}${path}${query}${search === '' ? '' : `&${search.slice(1)}`}`
}

/** Limit in milliseconds. Such calls are short, since nothing is generated. */
const forwardMs = 60_000
const passedParameters = new Set(['include', 'include[]', 'limit', 'order', 'after'])

/** Returns the query parameters for the upstream. Credentials and the gateway's own parameters are removed. */
function passedQuery(query: string): string {
  const given = new URLSearchParams(query)
  if (given.get('stream') === 'true')
    throw new GatewayError('invalid_request', 'stream: a stored response cannot be streamed.', { param: 'stream' })
  const passed = new URLSearchParams([...given].filter(([name]) => passedParameters.has(name)))
  return passed.size === 0 ? '' : `?${passed}`
}

async function requestUpstream(
  call: UpstreamCall,
  upstream: Upstream,
  codec: WireCodec,
  method: Route['method'],
  url: string,
): Promise<ParsedResponse> {
  const canceller = createCanceller()
  const abort = (): void => canceller.abort()
  call.signal.addEventListener('abort', abort)
  const timer = setTimeout(abort, Math.min(call.shared.limits.firstByteMs, forwardMs))
  try {
    return await sendToUpstream(call, upstream, codec, method, url, canceller)
  } finally {
    clearTimeout(timer)
    call.signal.removeEventListener('abort', abort)
  }
}

async function sendToUpstream(
  { transport, shared }: UpstreamCall,
  upstream: Upstream,
  codec: WireCodec,
  method: Route['method'],
  url: string,
  signal: Signal,
): Promise<ParsedResponse> {
  const own = { accept: 'application/json', ...configuredKeyHeaders(upstream, undefined) }
  const headers = await addCredentials(upstream, { method, url, headers: own, body: undefined }, signal)
  const response = await transport({ method, url, headers, signal }).catch((cause: unknown) => {
    throw unreachable(cause)
  })
  if (response.status < 200 || response.status >= 300) throw await readUpstreamError(response, codec, upstream)
  const bytes = await response.bytes(shared.limits.answerBytes).catch((cause: unknown) => {
    throw unreachable(cause)
  })
  const parsed = parseResponse(bytes, redactorOf(upstream))
  const { error } = codec.tapResponse(parsed.value)
  if (error !== undefined) throw toClientError(error, error.status, upstream)
  return parsed
}
