import type { CodecContext } from '../codec.ts'
import type { Effort } from '../ir.ts'
import type { NameRule } from '../shared/names.ts'
import type { RequestDefaults, ResponsePointers } from '../shared/pointers.ts'
import { cachePlace, loss } from '../shared/report.ts'

/** JSON Pointers of the IR's request fields in a generateContent body. Model and stream flag stand in the URL. */
export const fieldPointers = {
  model: '/model',
  turns: '/contents',
  stream: '/stream',
  'sampling.temperature': '/generationConfig/temperature',
  'sampling.topP': '/generationConfig/topP',
  'sampling.topK': '/generationConfig/topK',
  'sampling.seed': '/generationConfig/seed',
  'sampling.presencePenalty': '/generationConfig/presencePenalty',
  'sampling.frequencyPenalty': '/generationConfig/frequencyPenalty',
  'sampling.stop': '/generationConfig/stopSequences',
  'sampling.maxTokens': '/generationConfig/maxOutputTokens',
  'sampling.choices': '/generationConfig/candidateCount',
  tools: '/tools',
  'tools.list': '/tools',
  'tools.choice': '/toolConfig/functionCallingConfig',
  reasoning: '/generationConfig/thinkingConfig',
  'reasoning.effort': '/generationConfig/thinkingConfig/thinkingLevel',
  'reasoning.budgetTokens': '/generationConfig/thinkingConfig/thinkingBudget',
  'reasoning.adaptive': '/generationConfig/thinkingConfig/thinkingBudget',
  'reasoning.off': '/generationConfig/thinkingConfig/thinkingBudget',
  'reasoning.summary': '/generationConfig/thinkingConfig/includeThoughts',
  'output.format': '/generationConfig/responseMimeType',
  'output.modalities': '/generationConfig/responseModalities',
  'output.logprobs': '/generationConfig/logprobs',
  serviceTier: '/serviceTier',
} as const satisfies Readonly<Record<string, string>>

/** JSON Pointers of the IR's response fields in a generateContent response. */
export const responsePointers = {
  choice: '/candidates/{n}',
  'choice.finish': '/candidates/{n}/finishReason',
  'choice.sequence': '/candidates/{n}/finishReason',
  'choice.explanation': '/candidates/{n}/finishMessage',
  'choice.logprobs': '/candidates/{n}/logprobsResult',
  'choice.promptFeedback': '/promptFeedback',
  usage: '/usageMetadata',
  serviceTier: '/usageMetadata/serviceTier',
} as const satisfies ResponsePointers

export type FieldName = keyof typeof fieldPointers

/** Thinking levels that clients may send. Google's models end at `high`; other upstreams go higher. */
export const efforts = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const satisfies readonly Effort[]

/** Returns the effort of a thinking level in any case. */
export const effortOfLevel = (value: string): Effort | undefined =>
  efforts.find((effort) => effort === value.toLowerCase())

/** Thinking levels that Google's models accept. */
export type ThinkingLevel = 'minimal' | 'low' | 'medium' | 'high'

/** Names of service tiers. The IR's `auto` and `default` both need no field. */
const tiers: ReadonlyMap<string, string> = new Map([
  ['standard', 'default'],
  ['flex', 'flex'],
  ['priority', 'priority'],
])
/** Returns the IR's name of a tier. */
export const decodeTier = (tier: string): string => tiers.get(tier.toLowerCase()) ?? tier
/** Returns Google's name of a tier. The tier `fast` of OpenAI and Anthropic becomes `priority`. */
export const encodeTier = (tier: string): string | undefined =>
  tier === 'fast' ? 'priority' : [...tiers].find(([word, name]) => name === tier || word === tier)?.[0]

/** The function names that Google accepts. */
export const toolNames: NameRule = {
  accepted: /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/,
  refused: /[^a-zA-Z0-9_.:-]/gu,
  longest: 128,
}

/** Reports a cache hint: Google caches automatically, or by the name of a cache that the client created. */
export function reportCache(node: Parameters<typeof cachePlace>[0], context: CodecContext): void {
  const detail = 'generateContent has no cache hints'
  context.report.add(loss(cachePlace(node), detail, 'unsupported', 'note'))
}

// Sources: Google's OpenAPI document of v1beta (GenerationConfig: `candidateCount`, `responseMimeType`, `responseModalities`,
// `responseLogprobs`; FunctionCallingConfig: `mode`). Sampling has no entry: its defaults depend on the model.

/** The documented defaults of a generateContent request. */
export const defaults = {
  '/generationConfig/candidateCount': 1,
  '/generationConfig/responseMimeType': 'text/plain',
  '/generationConfig/responseModalities': ['TEXT'],
  '/generationConfig/responseLogprobs': false,
  '/toolConfig/functionCallingConfig/mode': 'AUTO',
} as const satisfies RequestDefaults
