import type { Upstream } from '@modelgate/core'
import { codeOf } from '../errors.ts'
import { modelListOf } from './model-lists.ts'

/** What an upstream said when it was asked for its models. */
export interface Answer {
  readonly state: 'ok' | 'not asked' | 'failed'
  /** What is wrong and what to do about it, or why it was not asked. */
  readonly detail?: string
  readonly models?: readonly string[]
  /** Whether `models` are named as calls name them. */
  readonly comparable?: boolean
  readonly ms?: number
  /** A name as calls use it in the list's words. */
  listed?(model: string): string
}

/** What is asked with, and for how long. */
export interface Asking {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
  /** Where the upstream's key is to be mended. */
  readonly keyPlace: string
}

/** More would be no list of models. */
const mostPages = 20

/** Asks an upstream for its models, with each of its keys. Never rejects, and never tells a key. */
export async function askUpstream(upstream: Upstream, asking: Asking): Promise<Answer> {
  const list = modelListOf(upstream)
  if (typeof list === 'string') return { state: 'not asked', detail: list }
  const began = performance.now()
  const { keys = [] } = upstream
  const signal = AbortSignal.timeout(asking.timeoutMs)
  const ways = keys.length === 0 ? [{ headers: {} }] : keys
  const found = await Promise.all(
    ways.map(async (key, at) => {
      try {
        return await allPages(upstream, list, key.headers, asking, signal)
      } catch (error) {
        const which = ways.length > 1 ? `key ${at + 1} of ${ways.length}: ` : ''
        return which + whatIsWrong(error, asking)
      }
    }),
  )
  const ms = Math.round(performance.now() - began)
  const wrong = found.filter((one) => typeof one === 'string')
  const models = found.find((one) => typeof one !== 'string')
  if (wrong.length > 0)
    return { state: 'failed', detail: wrong.join('; '), ms, ...(models === undefined ? {} : { models }) }
  return {
    state: 'ok',
    models: models ?? [],
    comparable: list.apart === undefined,
    ...(list.apart === undefined ? {} : { detail: list.apart }),
    ...(list.listed === undefined ? {} : { listed: list.listed }),
    ms,
  }
}

/** An answer that is not what was asked for. */
class Refusal extends Error {}

async function allPages(
  upstream: Upstream,
  list: Exclude<ReturnType<typeof modelListOf>, string>,
  keyHeaders: Readonly<Record<string, string>>,
  { fetch, keyPlace }: Asking,
  signal: AbortSignal,
): Promise<string[]> {
  const names: string[] = []
  let after: string | undefined
  for (let page = 0; page < mostPages; page++) {
    const url = list.url(after)
    const headers = lowerCase({ accept: 'application/json', ...upstream.headers, ...keyHeaders, ...list.headers })
    const made = await upstream.authorize?.({ method: 'GET', url, headers, body: undefined })
    // Redirects would take the key to whoever is named there.
    const response = await fetch(url, {
      headers: sendable({ ...headers, ...made }, keyPlace),
      signal,
      redirect: 'manual',
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Refusal(refusal(response.status, new URL(url).pathname, keyPlace))
    }
    const read = list.read(await response.json().catch(() => undefined))
    if (read === undefined)
      throw new Refusal(`it answers, but with no list of models at ${new URL(url).pathname}: is baseURL right?`)
    names.push(...read.names)
    if (read.next === undefined) break
    after = read.next
  }
  return names
}

/** What is said of a header that cannot be sent has the header in it, and so the key: it is said in other words. */
function sendable(headers: Readonly<Record<string, string>>, keyPlace: string): Headers {
  try {
    return new Headers(headers)
  } catch {
    throw new Refusal(
      `a header cannot be sent: is there a line break, or no plain letter, in ${keyPlace} or in headers?`,
    )
  }
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

function refusal(status: number, path: string, keyPlace: string): string {
  if (status === 401) return `it refuses the key (401): check ${keyPlace}`
  if (status === 403) return `the key may not list models (403): check ${keyPlace} and what it is allowed`
  if (status === 404) return `it has no list of models at ${path} (404): is baseURL right?`
  if (status === 429) return 'it is limited (429): the key works, but has no quota left for now'
  if (status >= 300 && status < 400) return `it redirects (${status}), which is not followed: is baseURL right?`
  if (status >= 500) return `it fails (${status}): try again, or see the provider's status page`
  return `it refuses the request (${status}): check ${keyPlace} and baseURL`
}

function whatIsWrong(error: unknown, { timeoutMs }: Asking): string {
  if (error instanceof Refusal) return error.message
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no answer within ${timeoutMs / 1000} s: is the address reachable from here? (--timeout gives it longer)`
  const code = deepCode(error)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'there is no such host: check baseURL, or the network'
  if (code === 'ECONNREFUSED') return 'nothing listens there: is it running, and is the port of baseURL right?'
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET')
    return 'it breaks the connection: is it http where https is meant, or the other way round?'
  if (code !== undefined && /CERT|SSL|TLS|SELF_SIGNED/.test(code))
    return `its certificate is not trusted (${code}): see NODE_EXTRA_CA_CERTS`
  if (code !== undefined) return `no connection (${code})`
  const first = (one: unknown): string => (one instanceof Error ? (one.message.split('\n', 1)[0] ?? '') : '')
  // What makes signatures and access tokens speaks of them in its own words, without a secret.
  return error instanceof Error && error.message === 'fetch failed'
    ? `no connection (${first(error.cause)})`
    : first(error)
}

/** The system's own code is below fetch's error, and below a list of attempts. */
function deepCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const first = error instanceof AggregateError ? error.errors[0] : undefined
  return codeOf(error) ?? deepCode(error.cause) ?? deepCode(first)
}
