import { isThenable, type Signal } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { RequestFlags } from '../formats/codec.ts'
import { isValidHeader } from '../http/inbound.ts'
import type { TransportRequest } from '../http/transport.ts'
import type { OutgoingCall, Upstream } from './upstream.ts'

/**
 * The headers of a call with those that are made for it alone. Rejects with `upstream_auth`: that our own credentials cannot be
 * had is nothing of the client's.
 *
 * @param signal aborted when the call is over: then nobody waits any more
 */
export async function addCredentials(
  upstream: Upstream,
  call: Omit<OutgoingCall, 'body'> & { readonly body: TransportRequest['body'] },
  signal: Signal,
): Promise<Readonly<Record<string, string>>> {
  if (upstream.authorize === undefined) return call.headers
  const { body } = call
  const known = typeof body === 'string' || body instanceof Uint8Array ? body : undefined
  try {
    const made = checkedHeaders(await untilAborted(upstream.authorize({ ...call, body: known }), signal))
    remember(upstream, made)
    return { ...call.headers, ...made }
  } catch (cause) {
    throw new GatewayError(
      'upstream_auth',
      "The gateway's own credentials for the upstream could not be had; this is not about your token.",
      { cause },
    )
  }
}

/** A call without its credential must not be sent. */
function checkedHeaders(made: unknown): Headers {
  if (typeof made !== 'object' || made === null || Array.isArray(made))
    throw new TypeError(`authorize of the upstream returned ${typeNameOf(made)}: return headers`)
  const bad = Object.entries(made).find((header) => !isValidHeader(header))
  if (bad !== undefined)
    throw new TypeError(`authorize of the upstream returned the header '${bad[0]}', which cannot be sent`)
  return made as Headers
}

/** Nobody waits for a token that does not come once the call is over. */
async function untilAborted<T>(made: T | PromiseLike<T>, signal: Signal): Promise<T> {
  if (!isThenable(made)) return made
  let leave = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(new Error('The call was over before its credentials were there.'))
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
  })
  try {
    return await Promise.race([made, aborted])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** A header that was made for a call. */
export interface CredentialHeader {
  readonly name: string
  readonly value: string
}

/**
 * What was made for the latest calls to an upstream, by its value. An access token among it is good for others too, and as secret
 * as a key; while one call goes on with it, others may have another.
 */
const allMade = new WeakMap<Upstream, Map<string, CredentialHeader>>()
/** How many different ones there have been, by upstream. */
const counts = new WeakMap<Upstream, number>()
/** Signatures are good for one call each: those of calls that are long over need not be remembered. */
const mostMade = 64

function remember(upstream: Upstream, headers: Headers): void {
  let known = allMade.get(upstream)
  if (known === undefined) {
    known = new Map()
    allMade.set(upstream, known)
  }
  for (const name in headers) {
    const value = headers[name] as string
    let header = known.get(value)
    if (header === undefined) {
      header = { name, value }
      counts.set(upstream, credentialCount(upstream) + 1)
    }
    // To the end: what is used is kept.
    known.delete(value)
    known.set(value, header)
    if (known.size > mostMade) known.delete(known.keys().next().value as string)
  }
}

/** How many different headers have been made so far: as long as it is the same, so are `madeHeaders`. */
export const credentialCount = (upstream: Upstream): number => counts.get(upstream) ?? 0

export const recentCredentials = (upstream: Upstream): Iterable<CredentialHeader> =>
  allMade.get(upstream)?.values() ?? []

/** The headers of one call: the upstream's own, and those of the client that it passes on. */
export function requestHeaders(
  upstream: Upstream,
  key: number | undefined,
  stream: boolean,
  header: (name: string) => string | undefined,
): Readonly<Record<string, string>> {
  let headers = baseHeaders(upstream, key, stream)
  for (const name of upstream.passHeaders) {
    const value = header(name)
    if (value !== undefined) headers = { ...headers, [name]: value }
  }
  return headers
}

/** The headers with the flags that a request's body needs. */
export function addFlags(headers: Headers, flags: RequestFlags | undefined): Headers {
  if (flags === undefined) return headers
  const given = (headers[flags.header] ?? '').split(',').map((flag) => flag.trim())
  return {
    ...headers,
    [flags.header]: [...new Set([...given, ...flags.flags])].filter((flag) => flag !== '').join(','),
  }
}

/** What an upstream is told with every call, with the credential of one of its keys. By lower-case name. */
export function configuredKeyHeaders(upstream: Upstream, key: number | undefined): Headers {
  const { headers } = upstream.keys?.[key ?? 0] ?? { headers: {} }
  return Object.fromEntries(
    Object.entries({ ...headers, ...upstream.headers }).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

interface Prepared {
  readonly whole: Headers
  readonly stream: Headers
}
const prepared = new WeakMap<Upstream, Prepared[]>()
type Headers = Readonly<Record<string, string>>

/** The headers that every call to an upstream has, made once for each of its keys. */
function baseHeaders(upstream: Upstream, key: number | undefined, stream: boolean): Headers {
  let all = prepared.get(upstream)
  if (all === undefined) {
    all = []
    prepared.set(upstream, all)
  }
  let both = all[key ?? 0]
  if (both === undefined) {
    const own = configuredKeyHeaders(upstream, key)
    // Compression saves nothing between data centres and holds back events.
    const shared = { 'content-type': 'application/json', 'accept-encoding': 'identity' }
    both = all[key ?? 0] = {
      whole: { ...shared, ...own },
      stream: { ...shared, accept: 'text/event-stream', ...own },
    }
  }
  return stream ? both.stream : both.whole
}

/**
 * The address of a call. In path and ending `{model}` stands for the model's name, whose slashes stay what they are, and
 * `{id}` for the same as one segment.
 *
 * @param path the operation's path below the upstream's address
 * @param ending for formats that name the model in the path: what follows it
 */
export function callUrl({ baseURL, query }: Upstream, path: string, ending: string | undefined, model: string): string {
  const whole = ending === undefined ? path : path + ending
  const url =
    baseURL +
    (whole.includes('{')
      ? whole.replace('{model}', () => inPath(model, '/')).replace('{id}', () => inPath(model, '%2F'))
      : whole)
  if (query === undefined) return url
  return url.includes('?') ? `${url}&${query.slice(1)}` : url + query
}

/** A model's name comes from the client where routes are prefixes: it must not reach any other path of the upstream. */
function inPath(model: string, slash: string): string {
  const segments = model.split('/')
  if (
    /[\ud800-\udfff]/u.test(model) ||
    segments.includes('') ||
    // Some servers take a backslash for a slash, encoded too.
    model.split(/[/\\]/).some((segment) => segment === '.' || segment === '..')
  )
    throw new GatewayError('model_not_found', `The model '${model.slice(0, 100)}' does not exist.`, { param: 'model' })
  return segments.map(encodeURIComponent).join(slash)
}

/** Whether an upstream speaks a format natively, for this model. */
export const speaks = ({ formats, serves }: Upstream, format: UpstreamFormat, model: string): boolean =>
  formats[format] !== undefined && (serves === undefined || serves(format, model))

/** The formats that an upstream speaks for a model, best first. */
export const formatsFor = (upstream: Upstream, model: string): readonly UpstreamFormat[] =>
  (Object.keys(upstream.formats) as UpstreamFormat[]).filter((format) => speaks(upstream, format, model))
