import type { UsageFields } from '../capabilities.ts'
import type { NameRule } from '../shared/names.ts'
import type { ResponsePointers } from '../shared/pointers.ts'

/** JSON Pointers of the IR's request fields in a Converse body. */
export const fieldPointers = {
  turns: '/messages',
  'sampling.temperature': '/inferenceConfig/temperature',
  'sampling.topP': '/inferenceConfig/topP',
  'sampling.topK': '/additionalModelRequestFields/top_k',
  'sampling.stop': '/inferenceConfig/stopSequences',
  'sampling.maxTokens': '/inferenceConfig/maxTokens',
  tools: '/toolConfig',
  'tools.list': '/toolConfig/tools',
  'tools.choice': '/toolConfig/toolChoice',
  reasoning: '/additionalModelRequestFields/thinking',
  output: '/outputConfig',
  'output.format': '/outputConfig/textFormat',
  metadata: '/requestMetadata',
  serviceTier: '/serviceTier',
} as const satisfies Readonly<Record<string, string>>

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
