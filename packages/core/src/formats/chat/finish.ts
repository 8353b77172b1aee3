import type { Json } from '../../base/json/json.ts'
import type { Finish, Part } from '../ir.ts'
import { toText } from '../shared/json-fields.ts'

type Reason = Finish['reason']

const reasons: Readonly<Record<string, Reason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
  model_length: 'context-length',
  error: 'error',
}

/** Finish reasons that chat clients know. Agents repeat the turn in a loop after any other value. */
export type FinishWord = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

const words: Readonly<Record<Reason, FinishWord>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  error: 'stop', // never written: such a response is reported as an error
  other: 'stop',
}

/** The content of a choice, as far as its finish reason depends on it. */
export interface ChoiceContent {
  calls: boolean
  refusal: boolean
  text: boolean
}

export const contentOf = (parts: readonly Part[]): ChoiceContent => ({
  calls: parts.some((part) => part.type === 'tool-call'),
  refusal: parts.some((part) => part.type === 'refusal'),
  text: parts.some((part) => part.type === 'text' && part.text !== ''),
})

/** Decodes a finish reason. Providers send numbers, '' and other values; none of them fails. */
export function decodeFinish(value: Json | undefined, stopReason: Json | undefined, held: ChoiceContent): Finish {
  const raw = value === null ? '' : toText(value)
  let reason: Reason = (Object.hasOwn(reasons, raw) ? reasons[raw] : undefined) ?? 'other'
  if ((reason === 'stop' || reason === 'other') && held.calls) reason = 'tool-calls'
  else if (reason === 'stop' && held.refusal && !held.text) reason = 'refusal'
  const finish: Finish = { reason, raw: { format: 'chat', value: raw } }
  // vLLM reports the matched stop string here.
  if (typeof stopReason === 'string' && reason === 'stop') {
    finish.reason = 'stop-sequence'
    finish.sequence = stopReason
  }
  return finish
}

export function encodeFinish(finish: Finish, held: ChoiceContent, functions: boolean): FinishWord {
  if (finish.reason === 'refusal' && finish.raw?.format === 'chat' && finish.raw.value === 'stop') return 'stop'
  let word = words[finish.reason]
  if (word === 'stop' && held.calls) word = 'tool_calls'
  // Agents would wait for calls that do not exist.
  if (word === 'tool_calls' && !held.calls) word = 'stop'
  return word === 'tool_calls' && functions ? 'function_call' : word
}
