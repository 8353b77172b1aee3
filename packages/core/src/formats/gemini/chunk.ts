import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ClientQuirks } from '../codec.ts'
import { errorObject } from './error.ts'

/** A stream's error event: nothing follows it. */
export const errorEvent = (error: ErrorInfo): SseEvent => ({ data: stringifyExact({ error: errorObject(error) }) })

export const truncated: ErrorInfo = {
  kind: 'upstream_truncated',
  status: errorKinds.upstream_truncated.status,
  message: 'The upstream ended its stream before the answer was complete.',
}

/** What all chunks of a stream share. */
export interface Frame {
  id: string
  model: string
}

/**
 * Keeps a stream alive: a chunk whose text is empty. Comments are no way, Gemini CLI breaks on them; nor are chunks without
 * a part, Google's SDK drops the whole answer from a chat's history for one of those; its older SDK does for the empty text.
 */
export const heartbeatEvent = (frame: Frame | undefined, client?: ClientQuirks): SseEvent => {
  const chunk: JsonObject =
    client?.spoiledByEmptyText === true
      ? {}
      : { candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0 }] }
  if (frame !== undefined) Object.assign(chunk, { modelVersion: frame.model, responseId: frame.id })
  return { data: stringifyExact(chunk) }
}
