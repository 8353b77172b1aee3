import { errorKinds } from '../base/error-kinds.ts'
import { type ErrorDetails, type ErrorInfo, GatewayError, type RetryHints } from '../base/errors.ts'
import { isObject, type Json, type JsonObject, put, stringifyExact } from '../base/json/json.ts'
import { parseExact } from '../base/json/parse.ts'
import { errorInResponse, type ResponseCheck } from '../formats/check-response.ts'
import type { UpstreamWireCodec } from '../formats/codec.ts'
import { bytesToUtf8, codeOf, type TransportResponse, unreadableResponse } from '../http/transport.ts'
import { redactorOf } from './redaction/redactor.ts'
import type { Upstream } from './upstream.ts'

const maxMessageChars = 2000
const maxErrorBodyBytes = 256 * 1024
const errorBodyTimeoutMs = 5000
/** One day. A longer `Retry-After` is treated as a mistake of the upstream. */
const maxWaitMs = 24 * 60 * 60 * 1000

/** Returns an upstream's error response as an error for the client. Errors about the gateway's own configuration become `upstream_auth`. */
export async function readUpstreamError(
  response: TransportResponse,
  codec: Pick<UpstreamWireCodec, 'decodeError'>,
  upstream: Upstream,
): Promise<GatewayError> {
  const { status } = response
  if (status >= 300 && status < 400) {
    response.discard()
    return new GatewayError('upstream_bad_response', 'The upstream responded with a redirect, which is not followed.')
  }
  const text = await errorText(response)
  const info = codec.decodeError(status, parseLoose(text), (name) => response.header(name))
  const waitMs = retryAfterMs(response)
  const neverRetry = response.header('x-should-retry') === 'false'
  const hints: RetryHints = { ...(waitMs === undefined ? {} : { waitMs }), ...(neverRetry ? { neverRetry } : {}) }
  return toClientError(info, status, upstream, { hints })
}

/** Returns the body of an error. It is empty if the body breaks off or takes too long: the status alone is enough. */
async function errorText(response: TransportResponse): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), errorBodyTimeoutMs)
  })
  const bytes = await Promise.race([response.bytes(maxErrorBodyBytes).catch(() => undefined), timeout])
  clearTimeout(timer)
  if (bytes === undefined) response.discard()
  return new TextDecoder().decode(bytes === undefined ? undefined : bytesToUtf8(bytes, response))
}

/**
 * Converts an upstream's error for the client: secrets and addresses are removed, and rejected credentials of the gateway become
 * `upstream_auth`.
 */
export function toClientError(
  info: ErrorInfo,
  status: number,
  upstream: Upstream,
  { hints, cause }: { hints?: RetryHints; cause?: unknown } = {},
): GatewayError {
  // Some formats state the wait in the body, even with a successful status.
  const waitMs = hints?.waitMs ?? (info.retryAfter === undefined ? undefined : boundedWait(info.retryAfter * 1000))
  const more = {
    hints: { ...hints, status, ...(waitMs === undefined ? {} : { waitMs }) },
    ...(cause === undefined ? {} : { cause }),
  }
  if (
    status === 401 ||
    info.kind === 'authentication' ||
    // A 403 can also mean a content policy or missing payment. The credentials are valid then.
    (status === 403 ? errorKinds[info.kind].credentialsAccepted !== true : info.kind === 'permission')
  )
    return new GatewayError(
      'upstream_auth',
      "The upstream rejected the gateway's own credentials. Your token is not the cause.",
      more,
    )
  const { kind, message, status: _, ...details } = redactInfo(info, upstream)
  return new GatewayError(kind, message.slice(0, maxMessageChars), {
    ...details,
    status: errorKinds[kind].status,
    ...(waitMs === undefined ? {} : { retryAfter: Math.ceil(waitMs / 1000) }),
    ...more,
  })
}

/** Returns an error without the upstream's secrets and addresses, or the same object if it contains none. */
export function redactInfo(info: ErrorInfo, upstream: Upstream): ErrorInfo {
  const redactor = redactorOf(upstream)
  const { message, param, code, raw, ...rest } = info
  const clean: ErrorInfo = { ...rest, message: redactor.redactText(message) }
  if (param !== undefined) clean.param = redactor.redactText(param)
  if (code !== undefined) clean.code = redactor.redactText(code)
  let same = clean.message === message && clean.param === param && clean.code === code
  if (raw !== undefined) {
    const json = jsonOf(raw.value)
    const redacted = json === undefined ? undefined : redactor.redactJson(json, 'error')
    same &&= redacted === json && redacted !== undefined
    if (redacted !== undefined) clean.raw = { format: raw.format, value: parseExact(redacted) as JsonObject }
  }
  return same ? info : clean
}

/** Returns the JSON text of a value, or undefined if it nests too deep. */
function jsonOf(value: JsonObject): string | undefined {
  try {
    return stringifyExact(value)
  } catch {
    return undefined
  }
}

/** Like `redactInfo`, for an error that was thrown while the upstream's response was read. */
export function redactError(error: GatewayError, upstream: Upstream): GatewayError {
  const info = redactInfo(error.info, upstream)
  if (info === error.info) return error
  const { kind, message, ...details } = info
  const { cause, headers, hints, allowance, logMessage } = error
  const more: { -readonly [K in keyof ErrorDetails]: ErrorDetails[K] } = { ...details }
  put(more, 'cause', cause)
  put(more, 'headers', headers)
  put(more, 'hints', hints)
  put(more, 'allowance', allowance)
  put(more, 'logMessage', logMessage)
  return new GatewayError(kind, message, more)
}

/** Returns the error in a JSON body with a successful status, or undefined if it is not an error. */
export async function readErrorUnder200(
  response: TransportResponse,
  codec: ResponseCheck,
): Promise<ErrorInfo | undefined> {
  const body = parseLoose(await errorText(response))
  return isObject(body) ? errorInResponse(body, codec) : undefined
}

/** Returns the error for a call without any response. Its cause names hosts and addresses, so it stays in the process. */
export const unreachable = (cause: unknown): GatewayError =>
  cause instanceof GatewayError ? cause : (unreadableResponse(cause, false) ?? noConnection(cause))

const noConnection = (cause: unknown): GatewayError =>
  connectCodes.has(codeOf(cause) ?? codeOf(causeOf(cause)) ?? '')
    ? new GatewayError('upstream_connect_timeout', 'The connection to the upstream timed out.', { cause })
    : new GatewayError('upstream_unreachable', 'The upstream could not be reached.', { cause })

/** Error codes of transports for a connection timeout. */
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
 * Returns the milliseconds that a response's headers ask to wait (`retry-after-ms`, or seconds or a date in `retry-after`), at most a day.
 * Returns undefined for other values (RFC 9110).
 */
export function retryAfterMs(
  response: Pick<TransportResponse, 'header'>,
  now: number = Date.now(),
): number | undefined {
  const exact = numberIn(response.header('retry-after-ms'))
  if (exact !== undefined) return boundedWait(exact)
  const retryAfter = response.header('retry-after')
  const seconds = numberIn(retryAfter)
  if (seconds !== undefined) return boundedWait(seconds * 1000)
  // Dates begin with the name of a day. `Date.parse` also accepts other texts, such as "-5".
  const date = retryAfter !== undefined && /^[a-z]{3}/i.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN
  return boundedWait(date - now)
}

const boundedWait = (waitMs: number): number | undefined =>
  Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), maxWaitMs)

/** Parses digits with an optional fraction. `Number` would also accept exponents, signs and hexadecimal digits. */
function numberIn(header: string | undefined): number | undefined {
  const digits = header?.trim() ?? ''
  return /^\d+(?:\.\d+)?$/.test(digits) ? Number(digits) : undefined
}
