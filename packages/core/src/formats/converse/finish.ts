import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Finish, Part } from '../ir.ts'

const reasons: Readonly<Record<string, Finish['reason']>> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-length',
  tool_use: 'tool-calls',
  guardrail_intervened: 'content-filter',
  content_filtered: 'content-filter',
  malformed_model_output: 'error',
  malformed_tool_use: 'error',
}

/** Messages for the client, by stop reasons that mean a failure. */
const failureMessages: Readonly<Record<string, string>> = {
  malformed_model_output: 'The model wrote something that the upstream could not read.',
  malformed_tool_use: 'The model wrote a tool call that the upstream could not read.',
}

/** Decodes the stop reason, and the stop sequence from the model's additional fields. An unknown stop reason becomes `other`. */
export function decodeFinish(stopReason: Json | undefined, additional: Json | undefined): Finish {
  const value = typeof stopReason === 'string' ? stopReason : ''
  const finish: Finish = { reason: (Object.hasOwn(reasons, value) ? reasons[value] : undefined) ?? 'other' }
  if (value !== '') finish.raw = { format: 'converse', value }
  if (Object.hasOwn(failureMessages, value)) finish.explanation = failureMessages[value] as string
  if (isObject(additional) && typeof additional.stop_sequence === 'string') finish.sequence = additional.stop_sequence
  return finish
}

/** Stop reasons that Bedrock's clients know. */
const stopReasons: Readonly<Record<Finish['reason'], string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-length': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'content_filtered',
  refusal: 'content_filtered',
  pause: 'end_turn',
  error: 'malformed_model_output', // sent only for a response that Bedrock itself ended in this way
  other: 'end_turn',
}

/** Returns whether a response contains a call for the client. */
export const hasCall = (parts: readonly Part[]): boolean => parts.some((part) => part.type === 'tool-call')

/** Encodes the stop reason, and the stop sequence where Claude's clients look for it. */
export function encodeFinish({ reason, raw, sequence }: Finish, calls: boolean): JsonObject {
  const own = raw?.format === 'converse' ? raw.value : undefined
  const out: JsonObject = { stopReason: own ?? stopReasonFor(reason, calls) }
  if (sequence !== undefined) out.additionalModelResponseFields = { stop_sequence: sequence }
  return out
}

function stopReasonFor(reason: Finish['reason'], calls: boolean): string {
  // A call wins over a plain end. A stop reason that promises calls when there are none makes agents wait for them.
  if (calls && (reason === 'stop' || reason === 'other')) return stopReasons['tool-calls']
  if (!calls && reason === 'tool-calls') return stopReasons.stop
  return stopReasons[reason]
}
