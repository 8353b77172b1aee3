import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'

const answerKeys = ['candidates', 'promptFeedback', 'prompt_feedback', 'usageMetadata', 'usage_metadata'] as const

/** Counts alone are an answer, too: the model said nothing. Beside an error, only a candidate is one. */
export function isAnswer(body: JsonObject): boolean {
  if (isObject(body.error)) return Array.isArray(body.candidates) && body.candidates.length > 0
  return answerKeys.some((key) => body[key] !== undefined && body[key] !== null)
}
