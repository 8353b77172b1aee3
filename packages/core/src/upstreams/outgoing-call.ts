import { isThenable, type Signal } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { RequestFlags } from '../formats/codec.ts'
import { isValidHeader } from '../http/inbound.ts'
import type { TransportRequest } from '../http/transport.ts'
import type { OutgoingCall, Upstream } from './upstream.ts'

/** Returns whether an upstream speaks a format natively for this model. */
export const speaks = ({ formats, serves }: Upstream, format: UpstreamFormat, model: string): boolean =>
  formats[format] !== undefined && (serves === undefined || serves(format, model))

/** Returns the formats to which requests for a model are translated, best first. */
export const formatsFor = (upstream: Upstream, model: string): readonly UpstreamFormat[] =>
  (Object.keys(upstream.formats) as UpstreamFormat[]).filter(
    (format) => speaks(upstream, format, model) && upstream.translates?.(format, model) !== false,
  )

/**
 * Returns the URL of a call. In `path` and `ending`, `{model}` is replaced by the model's name with its slashes kept, and `{id}` by the
 * name as a single segment.
 *
 * @param path path of the operation below the upstream's base URL
 * @param ending part after the model's name, for formats that name the model in the path
 * @throws GatewayError `model_not_found` for a name that could lead to another path of the upstream
 */
export function callUrl({ baseURL, query }: Upstream, path: string, ending: string | undefined, model: string): string {
  const whole = ending === undefined ? path : path + ending
  const url =
    baseURL +
    (whole.includes('{')
      ? whole.replace('{model}', () => encodeModel(model, '/')).replace('{id}', () => encodeModel(model, '%2F'))
      : whole)
  if (query === undefined) return url
  return url.includes('?') ? `${url}&${query.slice(1)}` : url + query
}

/** Encodes a model's name for a path. With model prefixes in routes the name comes from the client, so it must not leave its path. */
function encodeModel(model: string, slash: string): string {
  const segments = model.split('/')
  if (
    /[\ud800-\udfff]/u.test(model) ||
    segments.includes('') ||
    // Some servers treat a backslash as a slash, even if it is encoded.
    model.split(/[/\\]/).some((segment) => segment === '.' || segment === '..')
  )
    throw new GatewayError('model_not_found', `The model '${model.slice(0, 100)}' does not exist.`, { param: 'model' })
  return segments.map(encodeURIComponent).join(slash)
}

type Headers = Readonly<Record<string, string>>

/** Returns the headers of one call: the upstream's own, and the client's headers that the upstream forwards. */
export function requestHeaders(
  upstream: Upstream,
  key: number | undefined,
  stream: boolean,
  header: (name: string) => string | undefined,
): Headers {
  let headers = baseHeaders(upstream, key, stream)
  for (const name of upstream.passHeaders) {
    const value = header(name)
    if (value !== undefined) headers = { ...headers, [name]: value }
  }
  return headers
}

interface BaseHeaders {
  readonly whole: Headers
  readonly stream: Headers
}
const cachedBaseHeaders = new WeakMap<Upstream, BaseHeaders[]>()

/** Returns the headers that all calls with one key share. They are built once for each key. */
function baseHeaders(upstream: Upstream, key: number | undefined, stream: boolean): Headers {
  let byKey = cachedBaseHeaders.get(upstream)
  if (byKey === undefined) {
    byKey = []
    cachedBaseHeaders.set(upstream, byKey)
  }
  let headers = byKey[key ?? 0]
  if (headers === undefined) {
    const configured = configuredKeyHeaders(upstream, key)
    // Compression saves nothing between data centers, and it delays events.
    const shared = { 'content-type': 'application/json', 'accept-encoding': 'identity' }
    headers = byKey[key ?? 0] = {
      whole: { ...shared, ...configured },
      stream: { ...shared, accept: 'text/event-stream', ...configured },
    }
  }
  return stream ? headers.stream : headers.whole
}

/** Returns the configured headers of an upstream with the credential of one of its keys, by lower-case name. */
export function configuredKeyHeaders(upstream: Upstream, key: number | undefined): Headers {
  const { headers } = upstream.keys?.[key ?? 0] ?? { headers: {} }
  return Object.fromEntries(
    Object.entries({ ...headers, ...upstream.headers }).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

/** Returns the headers with the feature flags that a request's body requires, such as `anthropic-beta`. */
export function addFlags(headers: Headers, flags: RequestFlags | undefined): Headers {
  if (flags === undefined) return headers
  const present = (headers[flags.header] ?? '').split(',').map((flag) => flag.trim())
  return {
    ...headers,
    [flags.header]: [...new Set([...present, ...flags.flags])].filter((flag) => flag !== '').join(','),
  }
}

/**
 * Returns the headers of a call with those that `authorize` creates for this call.
 *
 * @param signal aborted when the call ends; the returned promise then rejects without waiting for `authorize`
 * @throws GatewayError `upstream_auth` if `authorize` fails: the gateway's configuration is at fault, not the client's request
 */
export async function addCredentials(
  upstream: Upstream,
  call: Omit<OutgoingCall, 'body'> & { readonly body: TransportRequest['body'] },
  signal: Signal,
): Promise<Headers> {
  if (upstream.authorize === undefined) return call.headers
  const { body } = call
  const knownBody = typeof body === 'string' || body instanceof Uint8Array ? body : undefined
  try {
    const created = checkHeaders(await untilAborted(upstream.authorize({ ...call, body: knownBody }), signal))
    remember(upstream, created)
    return { ...call.headers, ...created }
  } catch (cause) {
    throw new GatewayError(
      'upstream_auth',
      "The gateway's own credentials for the upstream could not be obtained. Your token is not the cause.",
      { cause },
    )
  }
}

/** Returns the headers that `authorize` created. A call without its credential must not be sent, so anything else is an error. */
function checkHeaders(created: unknown): Headers {
  if (typeof created !== 'object' || created === null || Array.isArray(created))
    throw new TypeError(`authorize of the upstream returned ${typeNameOf(created)}: return headers`)
  const invalid = Object.entries(created).find((header) => !isValidHeader(header))
  if (invalid !== undefined)
    throw new TypeError(`authorize of the upstream returned the header '${invalid[0]}', which cannot be sent`)
  return created as Headers
}

async function untilAborted<T>(result: T | PromiseLike<T>, signal: Signal): Promise<T> {
  if (!isThenable(result)) return result
  let abort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(new Error('The call ended before its credentials were available.'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
  })
  try {
    return await Promise.race([result, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** A header that `authorize` created for a call. */
export interface CredentialHeader {
  readonly name: string
  readonly value: string
}

/**
 * Headers that `authorize` created for the latest calls, by value. The redactor masks them in responses: an access token serves several
 * calls and is as secret as a key, and concurrent calls may use different ones.
 */
const recentHeaders = new WeakMap<Upstream, Map<string, CredentialHeader>>()
/** Number of different headers that `authorize` has created, by upstream. */
const headerCounts = new WeakMap<Upstream, number>()
/** Maximum of remembered headers. A signature is valid for one call, so those of earlier calls need not be remembered. */
const maxRecentHeaders = 64

function remember(upstream: Upstream, headers: Headers): void {
  let known = recentHeaders.get(upstream)
  if (known === undefined) {
    known = new Map()
    recentHeaders.set(upstream, known)
  }
  for (const name in headers) {
    const value = headers[name] as string
    let header = known.get(value)
    if (header === undefined) {
      header = { name, value }
      headerCounts.set(upstream, credentialCount(upstream) + 1)
    }
    // Moves the header to the end, so that the least recently used one is dropped.
    known.delete(value)
    known.set(value, header)
    if (known.size > maxRecentHeaders) known.delete(known.keys().next().value as string)
  }
}

/** Returns how many different headers `authorize` has created. While it is unchanged, `recentCredentials` returns no new header. */
export const credentialCount = (upstream: Upstream): number => headerCounts.get(upstream) ?? 0

/** Returns the headers that `authorize` created for the latest calls, the least recently used first. */
export const recentCredentials = (upstream: Upstream): Iterable<CredentialHeader> =>
  recentHeaders.get(upstream)?.values() ?? []
