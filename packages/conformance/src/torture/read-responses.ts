import { readStream as readEvents, type StreamReading } from '../base/client-events.ts'
import { type ClientFormat, clientFormatRows, type DialectError, errorNameIn } from '../base/client-formats.ts'
import { objectOf, parseJson, textOf } from '../base/json.ts'
import type { HttpResponse, TargetRequest } from './client.ts'

// Reads responses like a client of each format. Written from the formats, without the gateway's code.

/** Reads a stream as the most lenient client does, by the data of its events. */
export const readStream = (format: ClientFormat, text: string): StreamReading => readEvents(format, text, true)

/** Reads an error body in the shape that the dialect's official client expects; undefined for another shape. */
export const readError = (
  format: ClientFormat,
  { text, status, headers = {} }: Pick<HttpResponse, 'text' | 'status'> & Partial<Pick<HttpResponse, 'headers'>>,
): DialectError | undefined => {
  const name = errorNameIn(format, (name) => headers[name]?.toString())
  return clientFormatRows[format].readError(objectOf(parseJson(text)), { status, name })
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
  if (claimed.length > 0) return `the stream claims success: ${events[claimed[0] as number]?.data.slice(0, 120)}`
  if (reported.length !== 1) return `${reported.length} errors`
  const { followsError } = clientFormatRows[format]
  const last = events.length - (followsError === undefined ? 1 : 2)
  if (reported[0] !== last) return 'the error is not the last event'
  if (followsError !== undefined && textOf(objectOf(parseJson(events.at(-1)?.data ?? '')).type) !== followsError)
    return `no ${followsError} at the end`
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
