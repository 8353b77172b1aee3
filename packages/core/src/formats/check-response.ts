import { type ErrorInfo, errorFromInfo } from '../base/errors.ts'
import { isObject } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { UpstreamWireCodec } from './codec.ts'

/** How a body under a good status is told from an error. */
export interface ResponseCheck {
  readonly decodeError: UpstreamWireCodec['decodeError']
  /** Whether a body is an answer. Default: it is, unless it says that it is an error. */
  readonly isResponse?: ((body: JsonObject) => boolean) | undefined
  /** The error of a body that also holds an answer, as an error body. Default: there is none. */
  readonly errorWithin?: ((body: JsonObject) => JsonObject | undefined) | undefined
}

/**
 * Throws a GatewayError for a body without an answer under a good status. A status of 400 to 599 in the body counts as the response's
 * own; without one, the error's words decide, and what says nothing is `upstream_bad_response`.
 */
export function checkResponse(body: JsonObject, check: ResponseCheck): void {
  const error = errorInResponse(body, check)
  if (error !== undefined) throw errorFromInfo(error)
}

/** The error that `checkAnswer` throws; undefined for an answer. */
export function errorInResponse(
  body: JsonObject,
  { decodeError, isResponse: isAnswer = isNoError, errorWithin }: ResponseCheck,
): ErrorInfo | undefined {
  const within = errorWithin?.(body)
  if (within === undefined && isAnswer(body)) return undefined
  const error = within ?? body
  const status = innerStatus(error)
  if (status !== undefined || saysWhy(error)) return decodeError(status ?? 200, error)
  return { kind: 'upstream_bad_response', status: 502, message: 'The upstream answered 200 without an answer.' }
}

const isNoError = (body: JsonObject): boolean => !body.error && body.object !== 'error' && !isDetail(body)

/** FastAPI's errors. */
const isDetail = (body: JsonObject): boolean => body.detail !== undefined && Object.keys(body).length === 1

const saysWhy = ({ error, message, Message, detail, type }: JsonObject): boolean =>
  Boolean(error) || [message, Message, detail].some((words) => words !== undefined) || type === 'error'

const places = ['code', 'status', 'status_code', 'statusCode'] as const

/** The HTTP status that an error says of itself, where it came under another one. */
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
