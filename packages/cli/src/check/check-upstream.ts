import type { Upstream } from '@modelgate/core'
import { codeOf } from '../terminal/errors.ts'
import { modelListOf } from './model-lists.ts'

/** Result of listing the models of one upstream. */
export interface UpstreamCheck {
  readonly state: 'ok' | 'skipped' | 'failed'
  /** The problem and its fix, or the reason for skipping the upstream. */
  readonly detail?: string
  readonly models?: readonly string[]
  /** True if calls use the listed names. */
  readonly namesMatchCalls?: boolean
  readonly ms?: number
  /** Converts a name used in calls to the name in the list. */
  toListedName?(model: string): string
}

export interface CheckOptions {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
  /** Setting that holds the upstream's key, for messages. */
  readonly keyLocation: string
}

/** Stops endless paging. */
const maxPages = 20

/** Lists an upstream's models with each of its keys. Never rejects; the result never contains a key. */
export async function checkUpstream(upstream: Upstream, asking: CheckOptions): Promise<UpstreamCheck> {
  const list = modelListOf(upstream)
  if (typeof list === 'string') return { state: 'skipped', detail: list }
  const began = performance.now()
  const { keys = [] } = upstream
  const signal = AbortSignal.timeout(asking.timeoutMs)
  const credentials = keys.length === 0 ? [{ headers: {} }] : keys
  const results = await Promise.all(
    credentials.map(async (key, at) => {
      try {
        return await allPages(upstream, list, key.headers, asking, signal)
      } catch (error) {
        const which = credentials.length > 1 ? `key ${at + 1} of ${credentials.length}: ` : ''
        return which + failureMessage(error, asking)
      }
    }),
  )
  const ms = Math.round(performance.now() - began)
  const failures = results.filter((one) => typeof one === 'string')
  const models = results.find((one) => typeof one !== 'string')
  if (failures.length > 0)
    return { state: 'failed', detail: failures.join('; '), ms, ...(models === undefined ? {} : { models }) }
  return {
    state: 'ok',
    models: models ?? [],
    namesMatchCalls: list.incomparableReason === undefined,
    ...(list.incomparableReason === undefined ? {} : { detail: list.incomparableReason }),
    ...(list.toListedName === undefined ? {} : { toListedName: list.toListedName }),
    ms,
  }
}

/** A response other than a list of models. */
class CheckFailure extends Error {}

async function allPages(
  upstream: Upstream,
  list: Exclude<ReturnType<typeof modelListOf>, string>,
  keyHeaders: Readonly<Record<string, string>>,
  { fetch, keyLocation }: CheckOptions,
  signal: AbortSignal,
): Promise<string[]> {
  const names: string[] = []
  let after: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const url = list.url(after)
    const headers = lowerCase({ accept: 'application/json', ...upstream.headers, ...keyHeaders, ...list.headers })
    const signed = await upstream.authorize?.({ method: 'GET', url, headers, body: undefined })
    // Following a redirect would send the key to another host.
    const response = await fetch(url, {
      headers: toHeaders({ ...headers, ...signed }, keyLocation),
      signal,
      redirect: 'manual',
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new CheckFailure(statusMessage(response.status, new URL(url).pathname, keyLocation))
    }
    const read = list.read(await response.json().catch(() => undefined))
    if (read === undefined)
      throw new CheckFailure(`the response at ${new URL(url).pathname} is not a list of models: check baseURL`)
    names.push(...read.names)
    if (read.next === undefined) break
    after = read.next
  }
  return names
}

/** Creates request headers. The error message of `Headers` contains the header and so the key; it is replaced. */
function toHeaders(headers: Readonly<Record<string, string>>, keyLocation: string): Headers {
  try {
    return new Headers(headers)
  } catch {
    throw new CheckFailure(
      `a header contains a line break or a character outside Latin-1: check ${keyLocation} and headers`,
    )
  }
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

function statusMessage(status: number, path: string, keyLocation: string): string {
  if (status === 401) return `it rejects the key (401): check ${keyLocation}`
  if (status === 403) return `the key is not allowed to list models (403): check ${keyLocation} and its permissions`
  if (status === 404) return `no list of models at ${path} (404): check baseURL`
  if (status === 429) return 'rate limited (429): the key is valid but has no quota left'
  if (status >= 300 && status < 400) return `it redirects (${status}), which is not followed: check baseURL`
  if (status >= 500) return `server error (${status}): try again, or see the provider's status page`
  return `it rejects the request (${status}): check ${keyLocation} and baseURL`
}

function failureMessage(error: unknown, { timeoutMs }: CheckOptions): string {
  if (error instanceof CheckFailure) return error.message
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no response within ${timeoutMs / 1000} s: check that the address is reachable, or set a longer --timeout`
  const code = systemErrorCode(error)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown host: check baseURL and the network'
  if (code === 'ECONNREFUSED') return 'connection refused: check that the server is running and the port in baseURL'
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET')
    return 'connection reset: check whether baseURL needs http or https'
  if (code !== undefined && /CERT|SSL|TLS|SELF_SIGNED/.test(code))
    return `untrusted certificate (${code}): see NODE_EXTRA_CA_CERTS`
  if (code !== undefined) return `no connection (${code})`
  const first = (one: unknown): string => (one instanceof Error ? (one.message.split('\n', 1)[0] ?? '') : '')
  // Errors of signing and access tokens contain no secret.
  return error instanceof Error && error.message === 'fetch failed'
    ? `no connection (${first(error.cause)})`
    : first(error)
}

/** Returns the system error code, which fetch nests in causes and in lists of connection attempts. */
function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const first = error instanceof AggregateError ? error.errors[0] : undefined
  return codeOf(error) ?? systemErrorCode(error.cause) ?? systemErrorCode(first)
}
