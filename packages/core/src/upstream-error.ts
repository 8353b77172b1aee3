import { GatewayError, statusOf } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import type { ErrorInfo, ErrorKind, Json } from './formats/ir.ts'
import { isObject } from './formats/shared/reader.ts'
import type { TransportResponse } from './transport.ts'
import type { Upstream } from './upstreams/upstream.ts'

const messageChars = 2000
const errorBodyBytes = 256 * 1024
const errorBodyMs = 5000

/** Kinds that another target may not share; everything else would fail there just the same. */
const elsewhere: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'conflict',
  'internal',
  'overloaded',
  'quota_exceeded',
  'rate_limited',
  'timeout',
  'upstream_auth',
  'upstream_bad_response',
  'upstream_error',
  'upstream_timeout',
  'upstream_truncated',
  'upstream_unreachable',
])

/** Whether the next target is worth trying after this failure. */
export const worthAnotherTarget = (error: unknown): boolean =>
  error instanceof GatewayError && elsewhere.has(error.info.kind)

/** An upstream's refusal, in terms that are true for the client: our own configuration's faults are never its own. */
export async function readUpstreamError(
  response: TransportResponse,
  codec: Codec,
  upstream: Upstream,
): Promise<GatewayError> {
  const { status } = response
  if (status >= 300 && status < 400) {
    response.discard()
    return new GatewayError('upstream_bad_response', 'The upstream answered with a redirect, which is not followed.')
  }
  const text = await errorText(response)
  const info = codec.decodeError(status, parseLoose(text))
  const waits = retryAfterSeconds(response.header('retry-after'))
  return toClientError(info, status, waits, upstream)
}

/** The body of an error; empty where it breaks off or does not come in time. The status alone then says enough. */
async function errorText(response: TransportResponse): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), errorBodyMs)
  })
  const bytes = await Promise.race([response.bytes(errorBodyBytes).catch(() => undefined), late])
  clearTimeout(timer)
  if (bytes === undefined) response.discard()
  return new TextDecoder().decode(bytes)
}

/** Makes an upstream's error fit to be shown: secrets and hosts out, our own credentials' trouble renamed. */
export function toClientError(
  info: ErrorInfo,
  status: number,
  retryAfter: number | undefined,
  upstream: Upstream,
  cause?: unknown,
): GatewayError {
  if (status === 401 || status === 403 || info.kind === 'authentication' || info.kind === 'permission')
    return new GatewayError(
      'upstream_auth',
      "The upstream refused the gateway's own credentials; this is not about your token.",
    )
  const { kind, message, status: _, raw, ...details } = info
  const safeRaw =
    raw === undefined
      ? undefined
      : { format: raw.format, value: JSON.parse(redact(JSON.stringify(raw.value), upstream)) }
  const wait = retryAfter ?? info.retryAfter
  return new GatewayError(kind, redact(message, upstream).slice(0, messageChars), {
    ...details,
    status: statusOf[kind],
    ...(safeRaw === undefined ? {} : { raw: safeRaw }),
    ...(wait === undefined ? {} : { retryAfter: wait }),
    ...(cause === undefined ? {} : { cause }),
  })
}

/** The error that a whole JSON body under a good status is, or undefined if it is none. */
export async function readErrorUnder200(response: TransportResponse, codec: Codec): Promise<ErrorInfo | undefined> {
  const body = parseLoose(await errorText(response))
  return isObject(body) ? codec.tapResponse(body).error : undefined
}

/** A failure to get any answer. Its cause names hosts and addresses, so it stays in the process. */
export const unreachable = (cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : new GatewayError('upstream_unreachable', 'The upstream could not be reached.', { cause })

function parseLoose(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** Seconds of a Retry-After header (seconds or a date), or undefined for anything else. */
export function retryAfterSeconds(header: string | undefined, now: number = Date.now()): number | undefined {
  if (header === undefined) return undefined
  const seconds = Number(header)
  if (header.trim() !== '' && Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds) : undefined
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / 1000))
}

/** Takes an upstream's credentials and address out of a text. */
export function redact(text: string, upstream: Upstream): string {
  let clean = text
  for (const [name, value] of Object.entries(upstream.headers)) {
    if (!secretHeader(name) || value.length < 8) continue
    const bare = value.toLowerCase().startsWith('bearer ') ? value.slice(7) : value
    if (bare.length >= 8) clean = clean.replaceAll(bare, '***')
  }
  const { origin, host } = new URL(upstream.baseURL)
  clean = clean.replaceAll(origin, '[upstream]')
  // A host of one bare word may be any word of the text.
  return host.includes('.') || host.includes(':') ? clean.replaceAll(host, '[upstream]') : clean
}

/** Headers of a call, fit to be shown: everything but what is known to be public is masked. */
export const maskHeaders = (
  headers: Readonly<Record<string, string>>,
  upstream: Upstream,
): Readonly<Record<string, string>> => {
  const own = new Set(Object.keys(upstream.headers).map((name) => name.toLowerCase()))
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, own.has(name) && secretHeader(name) ? '***' : value]),
  )
}

const publicHeaders = new Set(['anthropic-version', 'anthropic-beta', 'content-type', 'accept', 'user-agent'])
const secretHeader = (name: string): boolean => !publicHeaders.has(name.toLowerCase())
