import type { JsonObject } from '../../base/json/types.ts'
import type { IsShown } from '../carries.ts'
import type { NameRule } from '../shared/names.ts'
import type { ResponsePointers } from '../shared/pointers.ts'
import { findUnshownUsage as beside, type UsageFields } from '../shared/response-losses.ts'

/** Where the IR's request fields stand in a body of Converse. */
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

/** Where an answer's IR stands: its one choice is all of it. */
export const answerPointers = {
  choice: '',
  'choice.finish': '/stopReason',
  'choice.sequence': '/additionalModelResponseFields',
  'choice.explanation': '/trace',
  'choice.logprobs': '',
  usage: '/usage',
  serviceTier: '/serviceTier/type',
} as const satisfies ResponsePointers

/** What Bedrock takes as the name of a tool. */
export const toolNames: NameRule = {
  accepted: /^[a-zA-Z0-9_-]+$/,
  refused: /[^a-zA-Z0-9_-]/gu,
  longest: 64,
}

/** What Bedrock takes as the id of a call: some vendors' own hold dots and colons, and are to come back as they were. */
export const callIds: NameRule = {
  accepted: /^[a-zA-Z0-9_.:-]+$/,
  refused: /[^a-zA-Z0-9_.:-]/gu,
  longest: 64,
}

const usageFields = {
  inputTokens: 'told',
  outputTokens: 'told',
  totalTokens: 'told',
  cacheReadInputTokens: 'usage.cacheRead',
  cacheWriteInputTokens: 'usage.cacheWrite',
  // The same once more, under their older names.
  cacheReadInputTokenCount: 'told',
  cacheWriteInputTokenCount: 'told',
  cacheDetails: [{ ttl: 'told', inputTokens: 'usage.cacheWrite1h' }],
} as const satisfies UsageFields

export const usageBeside = (usage: JsonObject, isShown: IsShown): string[] => beside(usage, usageFields, isShown)

export { decodeUsage } from './usage-decode.ts'
