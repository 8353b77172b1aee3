import type { Quirks } from '../formats/target-traits.ts'

/**
 * Fields that clients of chat completions send: those of OpenAI's specification without a quirk of their own, and those of common dialects
 * that the gateway reads and writes.
 */
const knownFields = [
  'audio',
  'frequency_penalty',
  'function_call',
  'functions',
  'logit_bias',
  'logprobs',
  'metadata',
  'modalities',
  'moderation',
  'n',
  'parallel_tool_calls',
  'prediction',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'reasoning_effort',
  'response_format',
  'safety_identifier',
  'seed',
  'service_tier',
  'stop',
  'store',
  'temperature',
  'tool_choice',
  'tools',
  'top_k',
  'top_logprobs',
  'top_p',
  'user',
  'verbosity',
  'web_search_options',
  // Fields of earlier responses that clients send back. Reasoning text comes first, because the codec can move it to another field.
  'messages[].reasoning_content',
  'messages[].reasoning',
  'messages[].reasoning_details',
  'messages[].annotations',
  'messages[].audio',
  'messages[].function_call',
  'messages[].name',
  'messages[].refusal',
] as const

export type ChatField = (typeof knownFields)[number]

/** Fields that every server with chat completions accepts. */
export const commonFields = [
  'response_format',
  'stop',
  'temperature',
  'tools',
  'top_p',
] as const satisfies readonly ChatField[]

/**
 * Returns the quirk `lacks` of a server: all known fields except those that it accepts. Fields missing in the list above are sent, so that
 * the server itself decides about new ones.
 *
 * @param reaction how the server reacts to a field that it lacks
 */
export const allFieldsExcept = (
  accepted: readonly ChatField[],
  reaction: 'refused' | 'ignored',
): NonNullable<Quirks['lacks']> =>
  Object.fromEntries(knownFields.filter((field) => !accepted.includes(field)).map((field) => [field, reaction]))
