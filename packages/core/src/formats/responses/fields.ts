import type { ModelRequest } from '../ir.ts'
import type { NameRule } from '../shared/names.ts'
import type { RequestDefaults, ResponsePointers } from '../shared/pointers.ts'
import { memberOf } from './tools.ts'

export { efforts, isEffort, verbosities } from '../chat/fields.ts'

/** JSON Pointers of the IR's request fields in a Responses body. */
export const fieldPointers = {
  model: '/model',
  turns: '/input',
  stream: '/stream',
  'sampling.temperature': '/temperature',
  'sampling.topP': '/top_p',
  'sampling.topK': '/top_k',
  'sampling.seed': '/seed',
  'sampling.logitBias': '/logit_bias',
  'sampling.presencePenalty': '/presence_penalty',
  'sampling.frequencyPenalty': '/frequency_penalty',
  'sampling.stop': '/stop',
  'sampling.maxTokens': '/max_output_tokens',
  'sampling.choices': '/n',
  tools: '/tools',
  'tools.list': '/tools',
  'tools.choice': '/tool_choice',
  'tools.parallel': '/parallel_tool_calls',
  reasoning: '/reasoning',
  'reasoning.effort': '/reasoning/effort',
  'reasoning.budgetTokens': '/reasoning/max_tokens',
  'reasoning.adaptive': '/reasoning',
  'reasoning.off': '/reasoning/effort',
  'reasoning.summary': '/reasoning/summary',
  output: '/text',
  'output.format': '/text/format',
  'output.format.name': '/text/format/name',
  'output.format.description': '/text/format/description',
  'output.format.strict': '/text/format/strict',
  'output.modalities': '/modalities',
  'output.audio': '/audio',
  'output.logprobs': '/include',
  'output.topLogprobs': '/top_logprobs',
  'output.verbosity': '/text/verbosity',
  'output.includeUsage': '/stream_options',
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

/** Pointer of the turn that clients write as `instructions`. Responses repeat it. */
export const instructionsPointer = '/instructions'

/** JSON Pointers of the IR's response fields. The one choice is the whole response; log probabilities stand on each text. */
export const responsePointers = {
  choice: '',
  'choice.finish': '/status',
  'choice.sequence': '/status',
  'choice.explanation': '/incomplete_details',
  'choice.logprobs': '/output',
  usage: '/usage',
  serviceTier: '/service_tier',
} as const satisfies ResponsePointers

/** Accepted values of `reasoning.summary`. */
export const reasoningSummaries = ['auto', 'concise', 'detailed'] as const

/** Values of `include` that the IR knows. */
export const includeValues = {
  /** Returns reasoning encrypted, so that a client can send it back to a server that stores nothing. */
  sealedReasoning: 'reasoning.encrypted_content',
  logprobs: 'message.output_text.logprobs',
} as const

/** Key in `ModelRequest.at` for the client's request of sealed reasoning. No IR field is needed, since seals are always returned. */
export const sealedReasoningKey = 'reasoning.seals'

/**
 * Returns whether the client speaks this format. Only then can it use item ids, states and echoed settings of a response.
 * Other formats identify calls by their call id only.
 */
export const isResponsesClient = (request: ModelRequest): boolean => request.at?.turns === fieldPointers.turns

/** The tool names that OpenAI accepts. Members of a namespace are skipped, since they have two names. */
export const toolNames: NameRule = {
  accepted: /^[a-zA-Z0-9_-]+$/,
  refused: /[^a-zA-Z0-9_-]/gu,
  longest: 64,
  skips: (tool) => memberOf(tool) !== undefined,
}

// Sources: the `default`s of CreateResponse in OpenAI's OpenAPI document, and the descriptions there of `service_tier`, `tool_choice`,
// `text` and `stream_options`; the Open Responses document for the penalties. Effort has no entry: its default depends on the model.

/** The documented defaults of a Responses request. */
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
