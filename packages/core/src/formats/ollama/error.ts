import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { type JsonObject, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

/** Encodes an error as Ollama does: a text, without type, code or field. A field that is wrong is named in the text. */
export const encodeError = (error: ErrorInfo, _requestId: string): { status: number; body: JsonObject } => ({
  // 529 is Anthropic's status; clients of other formats know 503.
  status: error.status === 529 ? 503 : error.status,
  body: { error: textOf(error) },
})

function textOf({ kind, message, param }: ErrorInfo): string {
  if (kind !== 'invalid_request' || param === undefined || message.includes(param)) return message
  return `${param}: ${message}`
}

/** Encodes the last line of a failed stream. */
export const errorEvent = (error: ErrorInfo): SseEvent => ({ data: stringifyExact({ error: textOf(error) }) })

export const truncated: ErrorInfo = {
  kind: 'upstream_truncated',
  status: errorKinds.upstream_truncated.status,
  message: 'The upstream closed the stream before the end of its response.',
}
