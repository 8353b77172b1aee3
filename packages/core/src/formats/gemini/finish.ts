import type { Json } from '../../base/json/types.ts'
import type { Finish, Part } from '../ir.ts'
import { toText } from '../shared/json-fields.ts'
import { finishWord } from './tap.ts'

type Reason = Finish['reason']

const reasons: Readonly<Record<string, Reason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
  IMAGE_PROHIBITED_CONTENT: 'content-filter',
  IMAGE_RECITATION: 'content-filter',
  IMAGE_OTHER: 'content-filter',
  MODEL_ARMOR: 'content-filter',
  // The turn goes on with the next request, which sends the candidate's `continuationToken`.
  CONTINUATION: 'pause',
  ESCALATION: 'content-filter',
  MALFORMED_FUNCTION_CALL: 'error',
  MALFORMED_RESPONSE: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  MISSING_THOUGHT_SIGNATURE: 'error',
  LANGUAGE: 'other',
  OTHER: 'other',
  NO_IMAGE: 'other',
}

/** Words that every client of this format knows. After any other some repeat the turn in a hot loop. */
const words: Readonly<Record<Reason, string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'context-length': 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
  refusal: 'SAFETY',
  pause: 'STOP',
  error: 'OTHER', // never written for a foreign answer: it is told as an error
  other: 'STOP',
}

/** What the upstream's word means. A call that is wanted wins: here it ends in a plain STOP. Unknown words degrade. */
export function decodeFinish(value: Json | undefined, message: Json | undefined, calls: boolean): Finish {
  const word = finishWord(value) ?? ''
  let reason: Reason = (Object.hasOwn(reasons, word) ? reasons[word] : undefined) ?? 'other'
  if (calls && (reason === 'stop' || reason === 'other')) reason = 'tool-calls'
  const finish: Finish = { reason, raw: { format: 'gemini', value: word } }
  if (typeof message === 'string' && message !== '') {
    // With a plain ending it says nothing (`Model generated function call(s).`).
    if (reason === 'stop' || reason === 'tool-calls' || reason === 'length')
      finish.extra = { gemini: { finishMessage: message } }
    else finish.explanation = message
  }
  return finish
}

/** The prompt was not answered: there is no candidate, and this says why. */
export function decodeBlock(reason: Json, message: Json | undefined): Finish {
  const finish: Finish = { reason: 'content-filter', raw: { format: 'gemini', value: toText(reason) } }
  if (typeof message === 'string' && message !== '') finish.explanation = message
  return finish
}

/** What the asker is told; undefined if the answer ended in a fault, which only an error can tell. */
export function encodeFinish(finish: Finish, said: boolean): string | undefined {
  const { reason, raw } = finish
  if (raw?.format === 'gemini' && raw.value !== '') return raw.value
  if (reason === 'error' || (reason === 'other' && !said)) return undefined
  return words[reason]
}

export const holdsCall = (parts: readonly Part[]): boolean => parts.some((part) => part.type === 'tool-call')
