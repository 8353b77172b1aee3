import type { RequestDefaults } from '../shared/defaults.ts'

// Sources: the `default`s of CreateChatCompletionRequest in OpenAI's OpenAPI document, and the descriptions there of `modalities`,
// `service_tier`, `tool_choice` (with tools), `verbosity` and `stream_options`. Effort has no entry: its default depends on the model.

/** What a chat request says by leaving a field out. */
export const defaults = {
  '/temperature': 1,
  '/top_p': 1,
  '/n': 1,
  '/presence_penalty': 0,
  '/frequency_penalty': 0,
  '/logit_bias': {},
  '/logprobs': false,
  '/store': false,
  '/stream': false,
  '/parallel_tool_calls': true,
  '/service_tier': 'auto',
  '/tool_choice': 'auto',
  '/function_call': 'auto',
  '/response_format': { type: 'text' },
  '/modalities': ['text'],
  '/verbosity': 'medium',
  '/stream_options/include_usage': false,
  '/stream_options/include_obfuscation': true,
  '/prompt_cache_options/mode': 'implicit',
  '/prompt_cache_options/ttl': '30m',
  '/tools/*/function/strict': false,
} as const satisfies RequestDefaults
