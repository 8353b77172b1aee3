import type { TargetTraits } from '../codec.ts'
import { type ModelTraits, modelTraits } from '../messages/models.ts'

/** Features of a family of models in Converse, in addition to those of all models. Facts about models belong in this file only. */
export interface ConverseTraits {
  /** Features of a Claude model in Anthropic's format. Converse passes its fields on unchanged. */
  readonly claude?: ModelTraits
  /**
   * How reasoning is requested in the fields that Converse passes on. `effort`: `reasoning_effort`; `config`: `reasoning_config`, low
   * or high; `reasoningConfig`: Nova's object. Absent: it cannot be requested, and the model decides.
   */
  readonly reasoning?: 'effort' | 'config' | 'reasoningConfig'
  /** Place of `top_k`: at the top of the fields that Converse passes on, or in Nova's `inferenceConfig` there. */
  readonly topK?: 'top' | 'inferenceConfig'
  /** True if a tool call can be forced. */
  readonly forcedTools: boolean
  /** True if the model accepts an output schema and strict tools. */
  readonly structured: boolean
  /** Places and lifetimes of cache points that the model accepts: also after tools, also for an hour. Absent: none. */
  readonly cache?: { readonly tools: boolean; readonly hour: boolean }
  /** True if a tool result may be marked as an error. */
  readonly resultStatus: boolean
}

const common: ConverseTraits = { forcedTools: false, structured: true, resultStatus: true }
const plain: ConverseTraits = { ...common, structured: false }
const nova: ConverseTraits = {
  ...plain,
  forcedTools: true,
  topK: 'inferenceConfig',
  cache: { tools: false, hour: false },
}

/** The first matching pattern applies. Names may have a region or an ARN in front. */
const families: readonly (readonly [RegExp, ConverseTraits])[] = [
  [/amazon\.nova-2|nova-2-/, { ...nova, reasoning: 'reasoningConfig' }],
  [/amazon\.nova/, nova],
  [/amazon\.titan|ai21\.|cohere\./, plain],
  [/meta\.llama/, plain],
  [/writer\./, { ...plain, resultStatus: false }],
  [/deepseek\.r1/, plain],
  [/mistral\.(mistral-7b|mixtral|mistral-small-24|mistral-large-24|pixtral)/, { ...plain, forcedTools: true }],
  [/mistral\./, { ...common, forcedTools: true }],
  [/openai\.gpt-oss/, { ...common, reasoning: 'effort' }],
  [/qwen\.qwen3/, { ...common, reasoning: 'config' }],
  [/(zai|moonshot(ai)?)\./, { ...common, forcedTools: true }],
]

/** Returns what the model of a target accepts through Converse. */
export function converseTraits(target: TargetTraits): ConverseTraits {
  const { model } = target
  if (!model.includes('claude')) return families.find(([pattern]) => pattern.test(model))?.[1] ?? common
  const claude = modelTraits(target)
  return {
    claude,
    topK: 'top',
    forcedTools: claude.forcedTools,
    structured: claude.structured,
    cache: { tools: true, hour: claude.structured },
    resultStatus: true,
  }
}
