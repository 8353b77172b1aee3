import { GatewayError, statusOf } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import type { ErrorInfo, ErrorKind, Json } from './formats/ir.ts'
import type { TransportResponse } from './transport.ts'
import type { Upstream } from './upstreams/upstream.ts'

const messageChars = 2000
const errorBodyBytes = 256 * 1024

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
  const text = await response.bytes(errorBodyBytes).then(
    (bytes) => new TextDecoder().decode(bytes),
    () => '',
  )
  const info = codec.decodeError(status, parseLoose(text))
  const waits = retryAfterSeconds(response.header('retry-after'))
  return toClientError(info, status, waits, upstream)
}

/** Makes an upstream's error fit to be shown: secrets and hosts out, our own credentials' trouble renamed. */
export function toClientError(
  info: ErrorInfo,
  status: number,
  retryAfter: number | undefined,
  upstream: Upstream,
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
  })
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

const publicHeaders = new Set(['anthropic-version', 'anthropic-beta', 'content-type', 'accept', 'user-agent'])
const secretHeader = (name: string): boolean => !publicHeaders.has(name.toLowerCase())
