import type { UsageFields } from '../capabilities.ts'
import type { Effort } from '../ir.ts'
import type { NameRule } from '../shared/names.ts'
import type { RequestDefaults, ResponsePointers } from '../shared/pointers.ts'

/** JSON Pointers of the IR's request fields in a Converse body. Model and stream flag stand in the path. */
export const fieldPointers = {
  model: '/model',
  turns: '/messages',
  stream: '/stream',
  'sampling.temperature': '/inferenceConfig/temperature',
  'sampling.topP': '/inferenceConfig/topP',
  'sampling.topK': '/additionalModelRequestFields/top_k',
  'sampling.stop': '/inferenceConfig/stopSequences',
  'sampling.maxTokens': '/inferenceConfig/maxTokens',
  tools: '/toolConfig',
  'tools.list': '/toolConfig/tools',
  'tools.choice': '/toolConfig/toolChoice',
  reasoning: '/additionalModelRequestFields/thinking',
  'reasoning.effort': '/outputConfig/effort',
  'reasoning.budgetTokens': '/additionalModelRequestFields/thinking/budget_tokens',
  'reasoning.adaptive': '/additionalModelRequestFields/thinking',
  'reasoning.off': '/additionalModelRequestFields/thinking',
  'reasoning.summary': '/additionalModelRequestFields/thinking/display',
  output: '/outputConfig',
  'output.format': '/outputConfig/textFormat',
  metadata: '/requestMetadata',
  serviceTier: '/serviceTier',
} as const satisfies Readonly<Record<string, string>>

/** The values of `outputConfig.effort`. */
export const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const satisfies readonly Effort[]

export const isEffort = (value: unknown): value is (typeof efforts)[number] =>
  efforts.some((effort) => effort === value)

// Sources: AWS's API reference of Bedrock (ToolResultBlock, ToolConfiguration, PerformanceConfiguration, ServiceTier, CitationsConfig,
// GuardrailConfiguration).

/** Values that apply when a Converse request leaves a field out. */
export const defaults = {
  '/stream': false,
  '/toolConfig/tools/*/toolSpec/strict': false,
  '/messages/*/content/*/toolResult/status': 'success',
  '/messages/*/content/*/document/citations/enabled': false,
  '/performanceConfig/latency': 'standard',
  '/serviceTier/type': 'default',
  '/guardrailConfig/trace': 'disabled',
} as const satisfies RequestDefaults

/** JSON Pointers of a response's IR. The whole body is its one choice. */
export const responsePointers = {
  choice: '',
  'choice.finish': '/stopReason',
  'choice.sequence': '/additionalModelResponseFields',
  'choice.explanation': '/trace',
  'choice.logprobs': '',
  usage: '/usage',
  serviceTier: '/serviceTier/type',
} as const satisfies ResponsePointers

/** Names of tools that Bedrock accepts. */
export const toolNames: NameRule = {
  accepted: /^[a-zA-Z0-9_-]+$/,
  refused: /[^a-zA-Z0-9_-]/gu,
  longest: 64,
}

/** Ids of tool calls that Bedrock accepts. Ids of some vendors contain dots and colons, and must come back unchanged. */
export const callIds: NameRule = {
  accepted: /^[a-zA-Z0-9_.:-]+$/,
  refused: /[^a-zA-Z0-9_.:-]/gu,
  longest: 64,
}

export const usageFields = {
  inputTokens: 'shown',
  outputTokens: 'shown',
  totalTokens: 'shown',
  cacheReadInputTokens: 'usage.cacheRead',
  cacheWriteInputTokens: 'usage.cacheWrite',
  // The same counts under their older names.
  cacheReadInputTokenCount: 'shown',
  cacheWriteInputTokenCount: 'shown',
  cacheDetails: [{ ttl: 'shown', inputTokens: 'usage.cacheWrite1h' }],
} as const satisfies UsageFields

export { decodeTier, usageOf } from './usage-decode.ts'
