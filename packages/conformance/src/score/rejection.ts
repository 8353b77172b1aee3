import { isObject, type JsonObject, objectOf, parseJson, textOf } from '../base/json.ts'
import { formatValue, must } from './expectations.ts'

/** An error response, independent of the SDK that threw it. */
export interface Rejection {
  readonly status: number
  readonly message: string
  /** Google's additional details, as JSON. */
  readonly details: string
  /** The field that the error names in its own property, if the format has one. */
  readonly param: string
  /** The response body, as far as the SDK kept it. */
  readonly body: JsonObject
  /** The SDK's error class, such as `NotFoundError`. */
  readonly thrown: string
}

/** Reads an SDK's exception as an error response; undefined for others (broken connection, invalid response). */
export function rejectionOf(error: unknown): Rejection | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined
  const { status } = error
  const fields = error as Error & { readonly error?: unknown }
  // Anthropic's SDK keeps the whole body, OpenAI's only `error`, and Google's uses the body as its message.
  const kept = objectOf(fields.error)
  const body = isObject(kept.error)
    ? kept
    : Object.keys(kept).length > 0
      ? { error: kept }
      : objectOf(parseJson(error.message))
  return { status, ...wordsOf(body, error.message), body, thrown: error.constructor.name }
}

function wordsOf(body: JsonObject, otherwise: string): Pick<Rejection, 'message' | 'details' | 'param'> {
  const error = objectOf(body.error)
  const message =
    textOf(error.message) || textOf(body.error) || textOf(body.message) || textOf(body.detail) || otherwise
  const details = Array.isArray(error.details) ? JSON.stringify(error.details) : ''
  return { message, details, param: textOf(error.param) }
}

/** An error response to a call without an SDK. */
class ErrorResponse extends Error {
  readonly status: number
  readonly error: JsonObject
  constructor({ status, message, body }: Rejection) {
    super(message)
    this.status = status
    this.error = body
  }
}

/** Returns the JSON body of a successful response. Throws an error like the SDKs' for an error response. */
export async function jsonOf(answer: Response): Promise<unknown> {
  if (!answer.ok) throw new ErrorResponse(await readRejection(answer))
  const text = await answer.text()
  const value = parseJson(text)
  must(value !== undefined, `the response is not JSON: ${formatValue(text)}`)
  return value
}

/** Reads a plain error response. */
export async function readRejection(answer: Response): Promise<Rejection> {
  const text = await answer.text()
  const parsed = parseJson(text)
  const body = objectOf(Array.isArray(parsed) ? parsed[0] : parsed)
  return { status: answer.status, ...wordsOf(body, text), body, thrown: 'Response' }
}

/** Splits identifiers into lower-case words: `topK`, `top_k` and `generationConfig.topK` match. */
const spelt = (text: string): string =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()

/** Returns true if the error names the field, in any spelling, as separate words. */
export function namesField({ message, details, param }: Rejection, field: string): boolean {
  const reported = ` ${spelt(`${param} ${message} ${details}`)} `
  const at = new RegExp(`[^a-z0-9]${spelt(field).replaceAll(/[^a-z0-9 ]/g, '\\$&')}[^a-z0-9]`)
  return at.test(reported)
}

/** Formats status and message in one line. */
export const describeRejection = ({ status, message }: Rejection): string => {
  const line = message.replaceAll(/\s+/g, ' ').trim()
  return `${status}: ${line.length > 240 ? `${line.slice(0, 239)}…` : line}`
}
