import { type ErrorInfo, errorFromInfo } from '../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import type { UpstreamWireCodec } from './codec.ts'

/** Functions that distinguish a response from an error with a success status. */
export interface ResponseCheck {
  readonly decodeError: UpstreamWireCodec['decodeError']
  /** Returns whether a body is a response. Default: it is, unless it has the form of an error. */
  readonly isResponse?: ((body: JsonObject) => boolean) | undefined
  /** Returns the error of a body that also holds a response, as an error body. Default: none. */
  readonly errorWithin?: ((body: JsonObject) => JsonObject | undefined) | undefined
}

/**
 * Throws a GatewayError if a body with a success status is no response. A status of 400 to 599 in the body replaces the response's status.
 * Without one, the error's text decides; a body without any text becomes `upstream_bad_response`.
 */
export function checkResponse(body: JsonObject, check: ResponseCheck): void {
  const error = errorInResponse(body, check)
  if (error !== undefined) throw errorFromInfo(error)
}

/** Returns the error that `checkResponse` throws; undefined for a response. */
export function errorInResponse(
  body: JsonObject,
  { decodeError, isResponse = isNoError, errorWithin }: ResponseCheck,
): ErrorInfo | undefined {
  const within = errorWithin?.(body)
  if (within === undefined && isResponse(body)) return undefined
  const error = within ?? body
  const status = innerStatus(error)
  if (status !== undefined || saysWhy(error)) return decodeError(status ?? 200, error)
  return { kind: 'upstream_bad_response', status: 502, message: 'The upstream returned status 200 without a response.' }
}

const isNoError = (body: JsonObject): boolean => !body.error && body.object !== 'error' && !isDetail(body)

/** FastAPI's error form. */
const isDetail = (body: JsonObject): boolean => body.detail !== undefined && Object.keys(body).length === 1

const saysWhy = ({ error, message, Message, detail, type }: JsonObject): boolean =>
  Boolean(error) || [message, Message, detail].some((words) => words !== undefined) || type === 'error'

const places = ['code', 'status', 'status_code', 'statusCode'] as const

/** Returns the HTTP status that the error body states. */
function innerStatus(body: JsonObject): number | undefined {
  for (const object of [body.error, body])
    if (isObject(object))
      for (const place of places) {
        const status = statusIn(object[place])
        if (status !== undefined) return status
      }
  return undefined
}

function statusIn(value: Json | undefined): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined
}
