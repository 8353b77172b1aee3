import type { Json } from '../../base/json/json.ts'
import type { Finish, Part } from '../ir.ts'
import { toText } from '../shared/json-fields.ts'
import { finishReasonName } from './tap.ts'

type Reason = Finish['reason']

const reasonByName: Readonly<Record<string, Reason>> = {
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
  // The turn continues with the next request, which sends the candidate's `continuationToken`.
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

/** Finish reasons that every client knows. Some clients repeat the turn in a hot loop after an unknown one. */
const nameByReason: Readonly<Record<Reason, string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'context-length': 'MAX_TOKENS',
  'tool-calls': 'STOP',
  'content-filter': 'SAFETY',
  refusal: 'SAFETY',
  pause: 'STOP',
  error: 'OTHER', // unused: responses of other formats with this reason become errors
  other: 'STOP',
}

/** Decodes `finishReason`. Responses with calls end with STOP in this format. Unknown reasons become `other`. */
export function decodeFinish(value: Json | undefined, message: Json | undefined, calls: boolean): Finish {
  const word = finishReasonName(value) ?? ''
  let reason: Reason = (Object.hasOwn(reasonByName, word) ? reasonByName[word] : undefined) ?? 'other'
  if (calls && (reason === 'stop' || reason === 'other')) reason = 'tool-calls'
  const finish: Finish = { reason, raw: { format: 'gemini', value: word } }
  if (typeof message === 'string' && message !== '') {
    // The message of a normal finish explains nothing (`Model generated function call(s).`).
    if (reason === 'stop' || reason === 'tool-calls' || reason === 'length')
      finish.extra = { gemini: { finishMessage: message } }
    else finish.explanation = message
  }
  return finish
}

/** Decodes the reason of a blocked prompt, which has no candidate. */
export function decodeBlockReason(reason: Json, message: Json | undefined): Finish {
  const finish: Finish = { reason: 'content-filter', raw: { format: 'gemini', value: toText(reason) } }
  if (typeof message === 'string' && message !== '') finish.explanation = message
  return finish
}

/** Encodes a finish reason. Returns undefined for a response that failed, which must become an error. */
export function encodeFinish(finish: Finish, hasContent: boolean): string | undefined {
  const { reason, raw } = finish
  if (raw?.format === 'gemini' && raw.value !== '') return raw.value
  if (reason === 'error' || (reason === 'other' && !hasContent)) return undefined
  return nameByReason[reason]
}

/** Returns whether a part is a tool call. */
export const hasToolCall = (parts: readonly Part[]): boolean => parts.some((part) => part.type === 'tool-call')
