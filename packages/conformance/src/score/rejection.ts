import { isObject, type JsonObject, objectOf, parseJson, textOf } from '../base/json.ts'
import { must, shown } from './expectations.ts'

/** An answer that is an error, whichever SDK threw it. */
export interface Refusal {
  readonly status: number
  readonly message: string
  /** Google's additional details, as JSON. */
  readonly details: string
  /** The field that it names, where the format has a place for it. */
  readonly param: string
  /** The answer's body, as far as the SDK kept it. */
  readonly body: JsonObject
  /** The SDK's own class of the error: `NotFoundError`. */
  readonly thrown: string
}

/** Reads an SDK's exception for an error of the server; undefined for others (a broken connection, a broken answer). */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined
  const { status } = error
  const fields = error as Error & { readonly error?: unknown }
  // Anthropic's SDK keeps the whole body, OpenAI's what stands in `error`, Google's has the body as its message.
  const kept = objectOf(fields.error)
  const body = isObject(kept.error)
    ? kept
    : Object.keys(kept).length > 0
      ? { error: kept }
      : objectOf(parseJson(error.message))
  return { status, ...wordsOf(body, error.message), body, thrown: error.constructor.name }
}

function wordsOf(body: JsonObject, otherwise: string): Pick<Refusal, 'message' | 'details' | 'param'> {
  const error = objectOf(body.error)
  const message =
    textOf(error.message) || textOf(body.error) || textOf(body.message) || textOf(body.detail) || otherwise
  const details = Array.isArray(error.details) ? JSON.stringify(error.details) : ''
  return { message, details, param: textOf(error.param) }
}

/** An answer that is an error, to a call without an SDK. */
class AnsweredError extends Error {
  readonly status: number
  readonly error: JsonObject
  constructor({ status, message, body }: Refusal) {
    super(message)
    this.status = status
    this.error = body
  }
}

/** The body of an answer that is none of an error, as JSON; of others it throws what an SDK would. */
export async function jsonOf(answer: Response): Promise<unknown> {
  if (!answer.ok) throw new AnsweredError(await refusalIn(answer))
  const text = await answer.text()
  const value = parseJson(text)
  must(value !== undefined, `the answer is no JSON: ${shown(text)}`)
  return value
}

/** The same of a plain answer. */
export async function refusalIn(answer: Response): Promise<Refusal> {
  const text = await answer.text()
  const parsed = parseJson(text)
  const body = objectOf(Array.isArray(parsed) ? parsed[0] : parsed)
  return { status: answer.status, ...wordsOf(body, text), body, thrown: 'Response' }
}

/** In words, however they are written together: `topK`, `top_k`, `generationConfig.topK`. */
const spelt = (text: string): string =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()

/** Returns true if the error names the field, in any spelling, as separate words. */
export function names({ message, details, param }: Refusal, field: string): boolean {
  const told = ` ${spelt(`${param} ${message} ${details}`)} `
  const at = new RegExp(`[^a-z0-9]${spelt(field).replaceAll(/[^a-z0-9 ]/g, '\\$&')}[^a-z0-9]`)
  return at.test(told)
}

/** In one line, for a person. */
export const toldBy = ({ status, message }: Refusal): string => {
  const line = message.replaceAll(/\s+/g, ' ').trim()
  return `${status}: ${line.length > 240 ? `${line.slice(0, 239)}…` : line}`
}
