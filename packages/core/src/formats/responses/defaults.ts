import type { RequestDefaults } from '../shared/defaults.ts'

// Sources: the `default`s of CreateResponse in OpenAI's OpenAPI document, and the descriptions there of `service_tier`, `tool_choice`,
// `text` and `stream_options`; the Open Responses document for the penalties. Effort has no entry: its default depends on the model.

/** What a responses request says by leaving a field out. */
export const defaults = {
  '/temperature': 1,
  '/top_p': 1,
  '/presence_penalty': 0,
  '/frequency_penalty': 0,
  '/top_logprobs': 0,
  '/background': false,
  '/truncation': 'disabled',
  '/parallel_tool_calls': true,
  '/store': true,
  '/stream': false,
  '/service_tier': 'auto',
  '/tool_choice': 'auto',
  '/metadata': {},
  '/include': [],
  '/text/format': { type: 'text' },
  '/text/verbosity': 'medium',
  '/stream_options/include_obfuscation': true,
  '/prompt_cache_options/mode': 'implicit',
  '/prompt_cache_options/ttl': '30m',
} as const satisfies RequestDefaults
