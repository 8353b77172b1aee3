import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import { errorObject, failureObject } from './error.ts'

/** Every event names itself twice: for readers of the stream's `event` lines, and for those of its data. */
const namedEvent = (type: string, number: number, fields: JsonObject): SseEvent => ({
  event: type,
  data: stringifyExact({ type, sequence_number: number, ...fields }),
})

/** Follows a good ending. Its servers disagree whether it must be there; no client minds it. */
export const doneEvent: SseEvent = { data: '[DONE]' }

/**
 * Keeps a stream alive. OpenAI's own `keepalive` event fails in clients that validate event types (@ai-sdk/xai), and a second
 * `response.in_progress` makes OpenAI's SDK forget the output so far.
 */
export const comment: SseEvent = { event: ':', data: 'keep-alive' }

/**
 * A stream that broke says so twice. Some clients throw at `error` and swallow `response.failed`, others know only the
 * latter. The first holds the error both flat, as it is documented, and nested, as it is sent.
 */
export function errorEvents(error: ErrorInfo, response: JsonObject, number: number): SseEvent[] {
  const object = errorObject(error)
  const { code = null, message = '', param = null } = object
  return [
    namedEvent('error', number, { code, message, param, error: object }),
    namedEvent('response.failed', number + 1, {
      response: { output: [], ...response, status: 'failed', error: failureObject(error) },
    }),
  ]
}

export const truncated: ErrorInfo = {
  kind: 'upstream_truncated',
  status: errorKinds.upstream_truncated.status,
  message: 'The upstream ended its stream before the answer was complete.',
}
