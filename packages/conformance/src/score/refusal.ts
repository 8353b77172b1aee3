import { isObject, type JsonObject, objectOf, parseJson, textOf } from '../json.ts'

/** An answer that is an error, whichever SDK threw it. */
export interface Refusal {
  readonly status: number
  readonly message: string
  /** What Google says beside it, as JSON. */
  readonly details: string
  /** The field that it names, where the format has a place for it. */
  readonly param: string
  /** The answer's body, as far as the SDK kept it. */
  readonly body: JsonObject
  /** The SDK's own class of the error: `NotFoundError`. */
  readonly thrown: string
}

/** What the SDKs throw for an error of the server; undefined for anything else (a broken connection, a broken answer). */
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

/** The same of a plain answer. */
export async function refusalIn(answer: Response): Promise<Refusal> {
  const text = await answer.text()
  const parsed = parseJson(text)
  const body = objectOf(Array.isArray(parsed) ? parsed[0] : parsed)
  return { status: answer.status, ...wordsOf(body, text), body, thrown: 'Response' }
}

/** Whether the refusal says which field it is about, in whatever spelling: `generationConfig.topK`, `top_k`. */
export function names({ message, details, param }: Refusal, field: string): boolean {
  const plain = (text: string): string => text.replaceAll(/[_\s]/g, '').toLowerCase()
  return plain(`${param} ${message} ${details}`).includes(plain(field))
}

/** In one line, for a person. */
export const toldBy = ({ status, message }: Refusal): string => {
  const line = message.replaceAll(/\s+/g, ' ').trim()
  return `${status}: ${line.length > 240 ? `${line.slice(0, 239)}…` : line}`
}
