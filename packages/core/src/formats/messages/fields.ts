import type { Effort } from '../ir.ts'
import type { NameRule } from '../shared/names.ts'
import type { RequestDefaults, ResponsePointers } from '../shared/pointers.ts'

/** JSON Pointers of the IR's request fields in a messages body. */
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
  'sampling.stop': '/stop_sequences',
  'sampling.maxTokens': '/max_tokens',
  'sampling.choices': '/n',
  tools: '/tools',
  'tools.list': '/tools',
  'tools.choice': '/tool_choice',
  'tools.parallel': '/tool_choice/disable_parallel_tool_use',
  reasoning: '/thinking',
  'reasoning.effort': '/output_config/effort',
  'reasoning.budgetTokens': '/thinking/budget_tokens',
  'reasoning.adaptive': '/thinking',
  'reasoning.off': '/thinking',
  'reasoning.summary': '/thinking/display',
  output: '/output_config',
  'output.format': '/output_config/format',
  'output.modalities': '/modalities',
  'output.audio': '/audio',
  'output.logprobs': '/logprobs',
  'output.verbosity': '/verbosity',
  'output.includeUsage': '/stream',
  user: '/metadata',
  'user.id': '/metadata/user_id',
  'user.cacheKey': '/metadata',
  'user.safetyId': '/metadata',
  metadata: '/metadata',
  serviceTier: '/service_tier',
  cache: '/cache_control',
  'cache.automatic': '/cache_control',
  'cache.ttl': '/cache_control/ttl',
  'cache.prewarm': '/max_tokens',
} as const satisfies Readonly<Record<string, string>>

/** JSON Pointers of a response's IR in a message. The whole message is its one choice. */
export const responsePointers = {
  choice: '',
  'choice.finish': '/stop_reason',
  'choice.sequence': '/stop_sequence',
  'choice.explanation': '/stop_details',
  'choice.logprobs': '',
  usage: '/usage',
  serviceTier: '/usage/service_tier',
} as const satisfies ResponsePointers

/** The values of `output_config.effort`. */
export const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const satisfies readonly Effort[]

export type EffortWord = (typeof efforts)[number]

export const isEffort = (value: unknown): value is EffortWord => efforts.some((effort) => effort === value)

/** Names of tools that Anthropic accepts. */
export const toolNames: NameRule = {
  accepted: /^[a-zA-Z0-9_-]+$/,
  refused: /[^a-zA-Z0-9_-]/gu,
  longest: 128,
}

// Sources: Anthropic's OpenAPI document (CreateMessageParams: `temperature`, `service_tier`, ToolChoiceAuto, RequestToolResultBlock,
// RequestCitationsConfig, CacheControlEphemeral).

/** Values that apply when a messages request leaves a field out. */
export const defaults = {
  '/temperature': 1,
  '/service_tier': 'auto',
  '/stream': false,
  '/tool_choice/type': 'auto',
  '/tool_choice/disable_parallel_tool_use': false,
  '/thinking/type': 'disabled',
  '/tools/*/type': 'custom',
  '/tools/*/strict': false,
  '/messages/*/content/*/is_error': false,
  '/messages/*/content/*/citations/enabled': false,
} as const satisfies RequestDefaults

/** Ids of tool calls that Anthropic accepts. */
export const callIds: NameRule = {
  accepted: /^[a-zA-Z0-9_-]+$/,
  refused: /[^a-zA-Z0-9_-]/gu,
  longest: Number.POSITIVE_INFINITY,
}
