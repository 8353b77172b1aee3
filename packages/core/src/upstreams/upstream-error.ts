import { errorKinds } from '../base/error-kinds.ts'
import { type ErrorDetails, type ErrorInfo, GatewayError, type RetryHints } from '../base/errors.ts'
import { parseExact, stringifyExact } from '../base/json/exact-number.ts'
import { isObject, put } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import { errorInResponse, type ResponseCheck } from '../formats/check-response.ts'
import type { UpstreamWireCodec } from '../formats/codec.ts'
import { bytesToUtf8, codeOf, type TransportResponse, unreadableResponse } from '../http/transport.ts'
import { redactorOf } from './redaction/redactor.ts'
import type { Upstream } from './upstream.ts'

const messageChars = 2000
const errorBodyBytes = 256 * 1024
const errorBodyMs = 5000
/** A day: what an upstream asks for beyond that is no wait but a fault. */
const longestWaitMs = 24 * 60 * 60 * 1000

/** An upstream's refusal, in terms that are true for the client: our own configuration's faults are never its own. */
export async function readUpstreamError(
  response: TransportResponse,
  codec: Pick<UpstreamWireCodec, 'decodeError'>,
  upstream: Upstream,
): Promise<GatewayError> {
  const { status } = response
  if (status >= 300 && status < 400) {
    response.discard()
    return new GatewayError('upstream_bad_response', 'The upstream answered with a redirect, which is not followed.')
  }
  const text = await errorText(response)
  const info = codec.decodeError(status, parseLoose(text), (name) => response.header(name))
  const waitMs = retryAfterMs(response)
  const neverRetry = response.header('x-should-retry') === 'false'
  const hints: RetryHints = { ...(waitMs === undefined ? {} : { waitMs }), ...(neverRetry ? { neverRetry } : {}) }
  return toClientError(info, status, upstream, { hints })
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
  return new TextDecoder().decode(bytes === undefined ? undefined : bytesToUtf8(bytes, response))
}

/** Makes an upstream's error fit to be shown: secrets and hosts out, our own credentials' trouble renamed. */
export function toClientError(
  info: ErrorInfo,
  status: number,
  upstream: Upstream,
  { hints, cause }: { hints?: RetryHints; cause?: unknown } = {},
): GatewayError {
  // Some formats say in the body how long to wait, also under a good status.
  const waitMs = hints?.waitMs ?? (info.retryAfter === undefined ? undefined : boundedWait(info.retryAfter * 1000))
  const more = {
    hints: { ...hints, status, ...(waitMs === undefined ? {} : { waitMs }) },
    ...(cause === undefined ? {} : { cause }),
  }
  if (
    status === 401 ||
    info.kind === 'authentication' ||
    // A 403 may say that the request is against the rules, or that nothing is paid for: the credentials are good then.
    (status === 403 ? errorKinds[info.kind].credentialsAccepted !== true : info.kind === 'permission')
  )
    return new GatewayError(
      'upstream_auth',
      "The upstream refused the gateway's own credentials; this is not about your token.",
      more,
    )
  const { kind, message, status: _, ...details } = redactInfo(info, upstream)
  return new GatewayError(kind, message.slice(0, messageChars), {
    ...details,
    status: errorKinds[kind].status,
    ...(waitMs === undefined ? {} : { retryAfter: Math.ceil(waitMs / 1000) }),
    ...more,
  })
}

/** An error without the upstream's secrets and address. The same object if there is none of them in it. */
export function redactInfo(info: ErrorInfo, upstream: Upstream): ErrorInfo {
  const redactor = redactorOf(upstream)
  const { message, param, code, raw, ...rest } = info
  const clean: ErrorInfo = { ...rest, message: redactor.redactText(message) }
  if (param !== undefined) clean.param = redactor.redactText(param)
  if (code !== undefined) clean.code = redactor.redactText(code)
  let same = clean.message === message && clean.param === param && clean.code === code
  if (raw !== undefined) {
    const written = jsonOf(raw.value)
    const told = written === undefined ? undefined : redactor.redactJson(written, 'error')
    same &&= told === written && told !== undefined
    if (told !== undefined) clean.raw = { format: raw.format, value: parseExact(told) as JsonObject }
  }
  return same ? info : clean
}

/** Undefined for what nests too deep to be written. */
function jsonOf(value: JsonObject): string | undefined {
  try {
    return stringifyExact(value)
  } catch {
    return undefined
  }
}

/** The same for an error that was thrown while an upstream's answer was read. */
export function redactError(error: GatewayError, upstream: Upstream): GatewayError {
  const info = redactInfo(error.info, upstream)
  if (info === error.info) return error
  const { kind, message, ...details } = info
  const { cause, headers, hints, allowance } = error
  const more: { -readonly [K in keyof ErrorDetails]: ErrorDetails[K] } = { ...details }
  put(more, 'cause', cause)
  put(more, 'headers', headers)
  put(more, 'hints', hints)
  put(more, 'allowance', allowance)
  return new GatewayError(kind, message, more)
}

/** The error that a whole JSON body under a good status is, or undefined if it is none. */
export async function readErrorUnder200(
  response: TransportResponse,
  codec: ResponseCheck,
): Promise<ErrorInfo | undefined> {
  const body = parseLoose(await errorText(response))
  return isObject(body) ? errorInResponse(body, codec) : undefined
}

/** A failure to get any answer. Its cause names hosts and addresses, so it stays in the process. */
export const unreachable = (cause: unknown): GatewayError =>
  cause instanceof GatewayError ? cause : (unreadableResponse(cause, false) ?? noConnection(cause))

const noConnection = (cause: unknown): GatewayError =>
  connectCodes.has(codeOf(cause) ?? codeOf(causeOf(cause)) ?? '')
    ? new GatewayError('upstream_connect_timeout', 'No connection to the upstream could be made in time.', { cause })
    : new GatewayError('upstream_unreachable', 'The upstream could not be reached.', { cause })

/** By which transports say that a connection did not stand in time. */
const connectCodes: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT', 'ConnectionTimeout'])

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined)
function parseLoose(text: string): Json {
  try {
    return parseExact(text) as Json
  } catch {
    return text
  }
}

/**
 * Milliseconds that an answer's headers ask to wait: exactly, in seconds, or until a date; at most a day. Undefined for anything that
 * RFC 9110 does not know as a number of seconds or a date.
 */
export function retryAfterMs(
  response: Pick<TransportResponse, 'header'>,
  now: number = Date.now(),
): number | undefined {
  const exact = numberIn(response.header('retry-after-ms'))
  if (exact !== undefined) return boundedWait(exact)
  const given = response.header('retry-after')
  const seconds = numberIn(given)
  if (seconds !== undefined) return boundedWait(seconds * 1000)
  // Dates begin with a day's name; what else `Date.parse` takes for one, like "-5", is none.
  const date = given !== undefined && /^[a-z]{3}/i.test(given) ? Date.parse(given) : Number.NaN
  return boundedWait(date - now)
}

const boundedWait = (waitMs: number): number | undefined =>
  Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), longestWaitMs)

/** Digits only, with a fraction at most: `Number` would take exponents, signs and hexadecimal digits, too. */
function numberIn(header: string | undefined): number | undefined {
  const digits = header?.trim() ?? ''
  return /^\d+(?:\.\d+)?$/.test(digits) ? Number(digits) : undefined
}
