import type { JsonObject } from '../ir.ts'

const answerKeys = ['candidates', 'promptFeedback', 'prompt_feedback', 'usageMetadata', 'usage_metadata'] as const

/** Counts alone are an answer, too: the model said nothing. */
export const isAnswer = (body: JsonObject): boolean => answerKeys.some((key) => body[key] !== undefined)
