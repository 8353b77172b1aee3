import { isObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import type { ClientFormat } from '../base/recorded-traffic.ts'
import { dataOf } from '../base/response-content.ts'
import type { HttpResponse, TargetRequest } from './client.ts'

// Reads responses like a client of each format. Written from the formats, without the gateway's code.

const typeOf = (data: string): string => textOf(objectOf(parseJson(data)).type)

/** Recognises the event that a client takes as the successful end. */
const successes: Readonly<Record<ClientFormat, (data: string) => boolean>> = {
  chat: (data) => data.trim() === '[DONE]',
  messages: (data) => typeOf(data) === 'message_stop',
  gemini: (data) =>
    listOf(objectOf(parseJson(data)).candidates).some((one) => objectOf(one).finishReason !== undefined) ||
    data.includes('"blockReason"'),
  responses: (data) => typeOf(data) === 'response.completed' || typeOf(data) === 'response.incomplete',
  ollama: (data) => objectOf(parseJson(data)).done === true,
}

const errors: Readonly<Record<ClientFormat, (data: string) => boolean>> = {
  chat: (data) => isObject(objectOf(parseJson(data)).error),
  messages: (data) => typeOf(data) === 'error',
  gemini: (data) => isObject(objectOf(parseJson(data)).error),
  // `response.failed` follows for clients that read only that event: together they are one error.
  responses: (data) => typeOf(data) === 'error',
  ollama: (data) => textOf(objectOf(parseJson(data)).error) !== '',
}

/** Content of a stream, event by event. */
export interface StreamReading {
  readonly events: readonly string[]
  /** Indexes of the events that claim success, and of errors. */
  readonly successes: readonly number[]
  readonly errors: readonly number[]
  /** Number of events with invalid JSON, except `[DONE]`. */
  readonly broken: number
  /** Text of all deltas. */
  readonly text: string
}

const deltas: Readonly<Record<ClientFormat, (data: string) => string>> = {
  chat: (data) =>
    listOf(objectOf(parseJson(data)).choices)
      .map((choice) => textOf(objectOf(objectOf(choice).delta).content))
      .join(''),
  messages: (data) => textOf(objectOf(objectOf(parseJson(data)).delta).text),
  gemini: (data) =>
    listOf(objectOf(parseJson(data)).candidates)
      .flatMap((one) => listOf(objectOf(objectOf(one).content).parts))
      .map((part) => textOf(objectOf(part).text))
      .join(''),
  responses: (data) => (typeOf(data) === 'response.output_text.delta' ? textOf(objectOf(parseJson(data)).delta) : ''),
  ollama: (data) => textOf(objectOf(objectOf(parseJson(data)).message).content),
}

export function readStream(format: ClientFormat, text: string): StreamReading {
  const events = dataOf(format, text)
  const places = (holds: (data: string) => boolean): number[] =>
    events.flatMap((data, place) => (holds(data) ? [place] : []))
  return {
    events,
    successes: places(successes[format]),
    errors: places(errors[format]),
    broken: events.filter((data) => data.trim() !== '[DONE]' && parseJson(data) === undefined).length,
    text: events.map(deltas[format]).join(''),
  }
}

/** Fields of an error object in the dialect. */
export interface DialectError {
  readonly message: string
  /** The dialect's own name of the kind: `type`, Google's `status`. Ollama has none. */
  readonly type: string
  readonly code: unknown
  /** The invalid field, if the error names one. */
  readonly param: string | undefined
}

const fieldOf = (details: unknown): string | undefined =>
  listOf(details)
    .flatMap((detail) => listOf(objectOf(detail).fieldViolations))
    .map((violation) => textOf(objectOf(violation).field))
    .find((field) => field !== '')

/** Reads an error body in the shape that the dialect's official client expects; undefined for another shape. */
export function readError(
  format: ClientFormat,
  { text, status }: Pick<HttpResponse, 'text' | 'status'>,
): DialectError | undefined {
  const body = objectOf(parseJson(text))
  // Ollama's errors are a text.
  if (format === 'ollama') {
    const message = textOf(body.error)
    return message === '' ? undefined : { message, type: '', code: undefined, param: undefined }
  }
  const error = objectOf(body.error)
  const message = textOf(error.message)
  if (message === '') return undefined
  if (format === 'gemini') {
    if (typeof error.code !== 'number' || error.code !== status || textOf(error.status) === '') return undefined
    return { message, type: textOf(error.status), code: error.code, param: fieldOf(error.details) }
  }
  if (textOf(error.type) === '' || (format === 'messages' && body.type !== 'error')) return undefined
  const param = textOf(error.param)
  return { message, type: textOf(error.type), code: error.code, param: param === '' ? undefined : param }
}

/**
 * Returns the defect in how a failure was reported, or undefined. Correct are an error status in the dialect, and a
 * stream with exactly one error at its end and no claim of success.
 */
export function failureDefect(format: ClientFormat, answer: HttpResponse): string | undefined {
  if (answer.status === 0) return `no response (${answer.broken ?? 'nothing was received'})`
  if (answer.status !== 200) {
    if (answer.status < 400) return `status ${answer.status}`
    return readError(format, answer) === undefined
      ? `status ${answer.status} not in the dialect: ${answer.text.slice(0, 120)}`
      : undefined
  }
  if (answer.broken !== undefined) return `the connection broke: ${answer.broken}`
  const { events, successes: claimed, errors: reported } = readStream(format, answer.text)
  if (claimed.length > 0) return `the stream claims success: ${events[claimed[0] as number]?.slice(0, 120)}`
  if (reported.length !== 1) return `${reported.length} errors`
  const last = format === 'responses' ? events.length - 2 : events.length - 1
  if (reported[0] !== last) return 'the error is not the last event'
  if (format === 'responses' && typeOf(events.at(-1) ?? '') !== 'response.failed')
    return 'no response.failed at the end'
  return undefined
}

/** Text of every complete response. */
const output = 'one two three'

/** Returns the defect of a response that should be complete, or undefined. */
export function completenessDefect(
  { client, stream }: Pick<TargetRequest, 'client' | 'stream'>,
  answer: HttpResponse,
): string | undefined {
  if (answer.status === 0) return `no response: ${answer.broken}`
  if (answer.status !== 200) return `returned status ${answer.status}: ${answer.text.slice(0, 120)}`
  if (answer.broken !== undefined) return `interrupted: ${answer.broken}`
  if (stream !== true)
    return answer.text.includes(output) ? undefined : `another response: ${answer.text.slice(0, 120)}`
  const { successes, errors, text } = readStream(client, answer.text)
  if (errors.length > 0) return 'an error in the stream'
  if (successes.length === 0) return 'a stream without a successful end'
  return text === output ? undefined : `a stream with the text '${text.slice(0, 60)}'`
}
