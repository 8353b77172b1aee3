import { isObject, type Json } from '../../base/json/json.ts'
import type { Finish } from '../ir.ts'

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
