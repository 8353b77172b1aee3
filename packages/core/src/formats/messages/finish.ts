import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, Part } from '../ir.ts'
import { toText, type Unread } from '../shared/json-fields.ts'
import { loss } from '../shared/report.ts'

type Reason = Finish['reason']

const reasonByStopReason: Readonly<Record<string, Reason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-length',
  tool_use: 'tool-calls',
  pause_turn: 'pause',
  compaction: 'pause',
  refusal: 'refusal',
}

/** Reports a response that ended at the `max_tokens` which the gateway set because Anthropic requires one and the client sent none. */
export function reportDefaultMaxTokens({ reason }: Finish, { request, report }: ExchangeContext): void {
  if (reason !== 'length' || request.sampling?.maxTokens !== undefined) return
  const detail = 'Anthropic requires max_tokens; the response ended at the value that the gateway set'
  report.add(loss('/stop_reason', detail, 'clamped'))
}

/** Stop reasons that Anthropic's clients know. After an unknown one, some clients repeat the turn in a hot loop. */
const stopReasonByReason: Readonly<Record<Reason, string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  error: 'end_turn', // never sent: a response that ended in an error becomes an error
  other: 'end_turn',
}

/** Decodes `stop_reason`, `stop_sequence` and `stop_details` of a message or a `message_delta`. An unknown stop reason becomes `other`. */
export function decodeFinish(source: Unread): Finish {
  const { stop_reason: stopReason, stop_sequence: sequence, stop_details: details } = source
  const finish: Finish = { reason: reasonOf(stopReason) }
  if (stopReason !== undefined && stopReason !== null) finish.raw = { format: 'messages', value: toText(stopReason) }
  if (typeof sequence === 'string') finish.sequence = sequence
  if (isObject(details)) {
    if (typeof details.explanation === 'string') finish.explanation = details.explanation
    finish.extra = { messages: { stop_details: details } }
  }
  return finish
}

const reasonOf = (stopReason: Json | undefined): Reason =>
  (typeof stopReason === 'string' && Object.hasOwn(reasonByStopReason, stopReason)
    ? reasonByStopReason[stopReason]
    : undefined) ?? 'other'

/** The kinds of parts in a response on which its stop reason depends. */
export interface PartKinds {
  hasCall: boolean
  hasRefusal: boolean
}

/** Returns the kinds of a whole response's parts. */
export const partKindsOf = (parts: readonly Part[]): PartKinds => ({
  hasCall: parts.some((part) => part.type === 'tool-call'),
  hasRefusal: parts.some((part) => part.type === 'refusal'),
})

/** Encodes `stop_reason`, `stop_sequence` and, if there are any, `stop_details`. */
export function encodeFinish(finish: Finish, kinds: PartKinds): JsonObject {
  const { reason, sequence, raw, explanation } = finish
  const original = raw?.format === 'messages' && Object.hasOwn(reasonByStopReason, raw.value) ? raw.value : undefined
  const out: JsonObject = {
    stop_reason: original ?? stopReasonFor(reason, sequence, kinds),
    stop_sequence: sequence ?? null,
  }
  const details = finish.extra?.messages?.stop_details
  if (details !== undefined) out.stop_details = details
  else if (explanation !== undefined && out.stop_reason === 'refusal')
    out.stop_details = { type: 'refusal', category: null, explanation }
  return out
}

function stopReasonFor(reason: Reason, sequence: string | undefined, kinds: PartKinds): string {
  // A call wins over a plain end. A stop reason that promises calls when there are none makes agents wait for them.
  if (kinds.hasCall && (reason === 'stop' || reason === 'other')) return 'tool_use'
  if (reason === 'tool-calls' && !kinds.hasCall) return 'end_turn'
  if (kinds.hasRefusal && reason === 'stop') return 'refusal'
  if (reason === 'stop-sequence' && sequence === undefined) return 'end_turn'
  return stopReasonByReason[reason]
}
