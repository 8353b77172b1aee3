import type { Quirks } from '../formats/target-traits.ts'

/**
 * What clients of chat completions write: all fields of OpenAI's specification that no other quirk is about, and those of
 * widespread dialects that this gateway reads and writes.
 */
const known = [
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
  // What clients send back of an answer that they were given. Reasoning as text comes first: it can be kept in another field.
  'messages[].reasoning_content',
  'messages[].reasoning',
  'messages[].reasoning_details',
  'messages[].annotations',
  'messages[].audio',
  'messages[].function_call',
  'messages[].name',
  'messages[].refusal',
] as const

export type ChatField = (typeof known)[number]

/** Settings of the sampler and of tools that every server of this kind takes. */
export const commonFields = [
  'response_format',
  'stop',
  'temperature',
  'tools',
  'top_p',
] as const satisfies readonly ChatField[]

/**
 * The fields that a server lacks, from those that it takes. Fields that nobody knows yet are not among them: they reach the
 * server, for it to judge.
 */
export const allFieldsExcept = (
  takes: readonly ChatField[],
  fate: 'refused' | 'ignored',
): NonNullable<Quirks['lacks']> =>
  Object.fromEntries(known.filter((field) => !takes.includes(field)).map((field) => [field, fate]))
