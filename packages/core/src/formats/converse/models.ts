import type { TargetTraits } from '../codec.ts'
import { type ModelTraits, modelTraits } from '../messages/models.ts'

/** What a family of models takes by way of Converse, beside what all take. Facts about models live in this file only. */
export interface ConverseTraits {
  /** What the family takes in its own vendor's format, for Claude: its own fields pass through Converse as they are. */
  readonly claude?: ModelTraits
  /**
   * How reasoning is asked for, in the fields that Converse passes on. `effort`: `reasoning_effort`; `config`:
   * `reasoning_config`, low or high; `reasoningConfig`: Nova's object. Absent: not at all, the model does as it sees fit.
   */
  readonly reasoning?: 'effort' | 'config' | 'reasoningConfig'
  /** How `top_k` is said: at the top of the fields that are passed on, or in Nova's `inferenceConfig` in them. */
  readonly topK?: 'top' | 'inferenceConfig'
  /** A tool call can be forced. */
  readonly forcedTools: boolean
  /** It takes a schema for its answer, and strict tools. */
  readonly structured: boolean
  /** It takes marks for a prompt cache: also behind tools, also for an hour. */
  readonly cache?: { readonly tools: boolean; readonly hour: boolean }
  /** A tool's result may say that it is an error. */
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

/** First pattern that fits the name, which may have a region or an address in front. */
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
