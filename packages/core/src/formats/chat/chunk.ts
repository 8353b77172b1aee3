import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { type JsonObject, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { errorObject } from './error.ts'

/** Ends every complete stream. */
export const doneEvent: SseEvent = { data: '[DONE]' }

/** A stream's error event. No `[DONE]` follows it. */
export const errorEvent = (error: ErrorInfo): SseEvent => ({ data: stringifyExact({ error: errorObject(error) }) })

/** Keeps a stream alive before its first chunk. */
export const comment: SseEvent = { event: ':', data: 'keep-alive' }

export const truncated: ErrorInfo = {
  kind: 'upstream_truncated',
  status: errorKinds.upstream_truncated.status,
  message: 'The upstream closed the stream before the end of its response.',
}

/** Members that all chunks of a stream share. */
export interface Frame {
  id: string
  model: string
  created: number
}

/** Keeps a stream alive: a chunk without content. */
export const heartbeatEvent = ({ id, model, created }: Frame): SseEvent => ({
  data: stringifyExact({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: 0, delta: {}, finish_reason: null }],
    system_fingerprint: null,
  } satisfies JsonObject),
})
