import type { Effort } from '../formats/ir.ts'
import type { ModelRule, ModelSetting } from '../formats/target-traits.ts'

// Sources: OpenAI's guides and, if they don't cover a setting, errors recorded from its API.
const guide = 'https://developers.openai.com/api/docs/guides/latest-model'
const reasoningGuide = 'https://developers.openai.com/api/docs/guides/reasoning'
const checked = '2026-11-23'

const rising: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const efforts = (least: Effort, most: Effort): readonly Effort[] =>
  rising
    .slice(rising.indexOf(least), rising.indexOf(most) + 1)
    .filter((effort) => effort !== 'minimal' || least === 'minimal')

const sampling: readonly ModelSetting[] = ['sampling.temperature', 'sampling.topP', 'output.logprobs']
const penalties: readonly ModelSetting[] = [
  'sampling.presencePenalty',
  'sampling.frequencyPenalty',
  'sampling.logitBias',
]
const reasoning: readonly ModelSetting[] = [...sampling, ...penalties, 'sampling.stop']

type Facts = Omit<ModelRule, 'model' | 'checked' | 'source'>

/** Facts of models that accept the effort `none`, and accept sampling settings only with it. */
const switchable = (accepted: readonly Effort[], defaultEffort: Effort): Facts => ({
  efforts: accepted,
  defaultEffort,
  refuses: [...penalties, 'sampling.stop'],
  refusesWhileReasoning: sampling,
})
/** Facts of models that always reason. */
const reasons = (accepted: readonly Effort[], refuses = reasoning): Facts => ({ efforts: accepted, refuses })
const responsesOnly = { notServedIn: ['chat'] } as const satisfies Facts
const noChatTools = { formats: { chat: { tools: 'without-reasoning' } } } as const satisfies Facts
const chatUpTo = (accepted: readonly Effort[]): Facts => ({
  formats: { chat: { tools: 'without-reasoning', efforts: accepted } },
})
const plain: Facts = { efforts: [], refuses: ['output.verbosity'] }

/** Facts of models that accept new tools, but no new effort, within a conversation. */
const laterTools = { laterChanges: ['tools'] } as const satisfies Facts
// OpenAI rejects a change of the effort for the other models.
const astraSource = 'https://openrouter.ai/docs/cookbook/evaluate-and-optimize/model-migrations/gpt-6-astra'
const toolsSource = 'https://github.com/langchain-ai/langchainjs/releases/tag/@langchain%2Fopenai@1.6.3'

/** Facts of models that accept explicit breakpoints of the prompt cache: `gpt-5.6` and later ones. */
const breakpoints = { cacheBreakpoints: true } as const satisfies Facts

const six = {
  ...breakpoints,
  ...switchable(efforts('none', 'max'), 'medium'),
  ...chatUpTo(efforts('none', 'xhigh')),
  ...laterTools,
}
const sixAlwaysReasoning = {
  ...breakpoints,
  ...reasons(efforts('low', 'max')),
  ...chatUpTo(efforts('low', 'xhigh')),
  ...laterTools,
}
const fiveSix = { ...breakpoints, ...switchable(efforts('none', 'max'), 'medium'), ...noChatTools, ...laterTools }
const five = { ...reasons(efforts('minimal', 'high')), ...laterTools }
const pro = { ...reasons(efforts('medium', 'xhigh')), ...responsesOnly }
const codex = (most: Effort): Facts => ({ ...reasons(efforts('low', most)), ...responsesOnly })
const oldCodex = (most: Effort): Facts => ({
  ...codex(most),
  refuses: [...reasoning, 'output.verbosity'],
})
const o = reasons(efforts('low', 'high'), [...reasoning, 'tools.parallel'])
const earlyO = reasons(efforts('low', 'high'), [...sampling, ...penalties, 'tools.parallel'])

/** Facts by the beginning of a model's name; the first match applies. Names without a match (embeddings, images, aliases) get no rule. */
const rows: readonly (readonly [model: string, facts: Facts, source: string])[] = [
  ['gpt-3', plain, reasoningGuide],
  // Azure's spelling of gpt-3.5.
  ['gpt-35', plain, reasoningGuide],
  ['gpt-4', plain, reasoningGuide],
  ['chatgpt-4o', plain, reasoningGuide],
  ['gpt-oss', {}, reasoningGuide],
  ['gpt-audio', plain, reasoningGuide],
  ['gpt-6-astra-pro', sixAlwaysReasoning, astraSource],
  ['gpt-6-astra', { ...sixAlwaysReasoning, laterChanges: ['effort', 'tools'] }, astraSource],
  ['gpt-6.1-sol', sixAlwaysReasoning, guide],
  ['gpt-5.6', fiveSix, 'https://github.com/BerriAI/litellm/pull/34569'],
  ['gpt-5.5-pro', pro, reasoningGuide],
  ['gpt-5.5', { ...switchable(efforts('none', 'xhigh'), 'medium'), ...noChatTools, ...laterTools }, guide],
  ['gpt-5.4-pro', pro, reasoningGuide],
  ['gpt-5.4', { ...switchable(efforts('none', 'xhigh'), 'none'), ...noChatTools, ...laterTools }, guide],
  ['gpt-5.3-codex', codex('xhigh'), reasoningGuide],
  ['gpt-5.3-chat', { efforts: ['medium'] }, reasoningGuide],
  ['gpt-5.2-pro', pro, reasoningGuide],
  ['gpt-5.2-codex', oldCodex('xhigh'), reasoningGuide],
  ['gpt-5.2-chat', reasons(['medium']), reasoningGuide],
  ['gpt-5.2', { ...switchable(efforts('none', 'xhigh'), 'none'), ...laterTools }, guide],
  ['gpt-5.1-codex-max', oldCodex('xhigh'), reasoningGuide],
  ['gpt-5.1-codex', oldCodex('high'), reasoningGuide],
  ['gpt-5.1-chat', reasons(['medium']), reasoningGuide],
  ['gpt-5.1', { ...switchable(efforts('none', 'high'), 'none'), ...laterTools }, guide],
  // Later versions of the fifth generation.
  ['gpt-5.', fiveSix, guide],
  ['gpt-5-pro', { ...reasons(['high']), ...responsesOnly }, reasoningGuide],
  ['gpt-5-codex', oldCodex('high'), 'https://cookbook.openai.com/examples/gpt-5-codex_prompting_guide'],
  ['gpt-5-chat', { efforts: [] }, reasoningGuide],
  ['gpt-5', five, reasoningGuide],
  // `gpt-6-sol`, `gpt-6-luna`, `gpt-6.1-terra` and later generations.
  ['gpt-6', six, guide],
  ['gpt-7', six, guide],
  ['gpt-8', six, guide],
  ['o1-pro', { ...o, ...responsesOnly }, reasoningGuide],
  ['o1', earlyO, reasoningGuide],
  ['o3-pro', { ...o, ...responsesOnly }, reasoningGuide],
  ['o3-deep-research', { ...reasons(['medium']), ...responsesOnly }, reasoningGuide],
  ['o3-mini', earlyO, reasoningGuide],
  ['o3', { ...o, ...laterTools }, toolsSource],
  ['o4-mini-deep-research', { ...reasons(['medium']), ...responsesOnly }, reasoningGuide],
  ['o4', o, reasoningGuide],
  ['codex-mini', codex('high'), 'https://github.com/aaif-goose/goose/issues/2564'],
  ['computer-use', { ...reasons(['medium']), ...responsesOnly }, reasoningGuide],
]

/** Settings that OpenAI's models accept, at OpenAI itself and in clouds that serve them under the same names. */
export const openaiModels: readonly ModelRule[] = rows.map(([model, facts, source]) => ({
  model,
  ...facts,
  checked,
  source,
}))
