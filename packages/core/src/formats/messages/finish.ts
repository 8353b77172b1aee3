import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, Part } from '../ir.ts'
import { toText, type Unread } from '../shared/json-fields.ts'
import { loss } from '../shared/report.ts'

type Reason = Finish['reason']

const reasons: Readonly<Record<string, Reason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-length',
  tool_use: 'tool-calls',
  pause_turn: 'pause',
  compaction: 'pause',
  refusal: 'refusal',
}

/** Reports an answer that ended at a bound which the client did not set: messages requires one, so that the gateway did. */
export function reportOwnBound({ reason }: Finish, { request, report }: ExchangeContext): void {
  if (reason !== 'length' || request.sampling?.maxTokens !== undefined) return
  const detail = 'Anthropic requires max_tokens; the answer ended at the value that the gateway set'
  report.add(loss('/stop_reason', detail, 'clamped'))
}

/** Words that Anthropic's clients know. After any other some repeat the turn in a hot loop. */
const words: Readonly<Record<Reason, string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  error: 'end_turn', // never written: an answer that ended so is told as an error
  other: 'end_turn',
}

/** Reads `stop_reason` and what stands beside it, of a message or of a `message_delta`. Unknown words degrade. */
export function decodeFinish(source: Unread): Finish {
  const { stop_reason: word, stop_sequence: sequence, stop_details: details } = source
  const finish: Finish = { reason: reasonOf(word) }
  if (word !== undefined && word !== null) finish.raw = { format: 'messages', value: toText(word) }
  if (typeof sequence === 'string') finish.sequence = sequence
  if (isObject(details)) {
    if (typeof details.explanation === 'string') finish.explanation = details.explanation
    finish.extra = { messages: { stop_details: details } }
  }
  return finish
}

const reasonOf = (word: Json | undefined): Reason =>
  (typeof word === 'string' && Object.hasOwn(reasons, word) ? reasons[word] : undefined) ?? 'other'

/** What an answer held, as far as its ending depends on it. */
export interface Held {
  calls: boolean
  refusal: boolean
}
export const heldBy = (parts: readonly Part[]): Held => ({
  calls: parts.some((part) => part.type === 'tool-call'),
  refusal: parts.some((part) => part.type === 'refusal'),
})

/** `stop_reason`, `stop_sequence` and, where there is something to say, `stop_details`. */
export function encodeFinish(finish: Finish, held: Held): JsonObject {
  const { reason, sequence, raw, explanation } = finish
  const own = raw?.format === 'messages' && Object.hasOwn(reasons, raw.value) ? raw.value : undefined
  const out: JsonObject = { stop_reason: own ?? wordFor(reason, sequence, held), stop_sequence: sequence ?? null }
  const details = finish.extra?.messages?.stop_details
  if (details !== undefined) out.stop_details = details
  else if (explanation !== undefined && out.stop_reason === 'refusal')
    out.stop_details = { type: 'refusal', category: null, explanation }
  return out
}

function wordFor(reason: Reason, sequence: string | undefined, held: Held): string {
  // A wanted call wins over a plain ending; a word that promises calls without any makes agents wait for them.
  if (held.calls && (reason === 'stop' || reason === 'other')) return 'tool_use'
  if (reason === 'tool-calls' && !held.calls) return 'end_turn'
  if (held.refusal && reason === 'stop') return 'refusal'
  if (reason === 'stop-sequence' && sequence === undefined) return 'end_turn'
  return words[reason]
}
