import type { NameRule } from '../shared/names.ts'
import type { RequestDefaults, ResponsePointers } from '../shared/pointers.ts'

export { efforts, isEffort } from './quirks.ts'

/** JSON Pointers of IR request fields in a chat body. */
export const fieldPointers = {
  model: '/model',
  turns: '/messages',
  stream: '/stream',
  'sampling.temperature': '/temperature',
  'sampling.topP': '/top_p',
  'sampling.topK': '/top_k',
  'sampling.seed': '/seed',
  'sampling.logitBias': '/logit_bias',
  'sampling.presencePenalty': '/presence_penalty',
  'sampling.frequencyPenalty': '/frequency_penalty',
  'sampling.stop': '/stop',
  'sampling.maxTokens': '/max_completion_tokens',
  'sampling.choices': '/n',
  tools: '/tools',
  'tools.list': '/tools',
  'tools.choice': '/tool_choice',
  'tools.parallel': '/parallel_tool_calls',
  reasoning: '/reasoning_effort',
  'reasoning.effort': '/reasoning_effort',
  'reasoning.budgetTokens': '/reasoning/max_tokens',
  'reasoning.adaptive': '/reasoning',
  'reasoning.off': '/reasoning/enabled',
  'reasoning.summary': '/reasoning/summary',
  'output.format': '/response_format',
  'output.format.name': '/response_format/json_schema/name',
  'output.format.description': '/response_format/json_schema/description',
  'output.format.strict': '/response_format/json_schema/strict',
  'output.modalities': '/modalities',
  'output.audio': '/audio',
  'output.logprobs': '/logprobs',
  'output.topLogprobs': '/top_logprobs',
  'output.verbosity': '/verbosity',
  'output.includeUsage': '/stream_options/include_usage',
  user: '/user',
  'user.id': '/user',
  'user.cacheKey': '/prompt_cache_key',
  'user.safetyId': '/safety_identifier',
  metadata: '/metadata',
  serviceTier: '/service_tier',
  cache: '/prompt_cache_options',
  'cache.automatic': '/prompt_cache_options/mode',
  'cache.ttl': '/prompt_cache_options/ttl',
  'cache.prewarm': '/prompt_cache_options/prewarm',
} as const satisfies Readonly<Record<string, string>>

/** JSON Pointers of IR response fields in a chat response. */
export const responsePointers = {
  choice: '/choices/{n}',
  'choice.finish': '/choices/{n}/finish_reason',
  'choice.sequence': '/choices/{n}/stop_reason',
  'choice.explanation': '/choices/{n}/message',
  'choice.logprobs': '/choices/{n}/logprobs',
  usage: '/usage',
  serviceTier: '/service_tier',
} as const satisfies ResponsePointers

export const verbosities = ['low', 'medium', 'high'] as const
export const summaries = ['auto', 'concise', 'detailed', 'none'] as const

/** Tool names that OpenAI accepts. */
export const toolNames: NameRule = {
  accepted: /^[a-zA-Z0-9_-]+$/,
  refused: /[^a-zA-Z0-9_-]/gu,
  longest: 64,
}

// Sources: the `default`s of CreateChatCompletionRequest in OpenAI's OpenAPI document, and the descriptions there of `modalities`,
// `service_tier`, `tool_choice` (with tools), `verbosity` and `stream_options`. Effort has no entry: its default depends on the model.

/** Documented defaults of chat requests. */
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
