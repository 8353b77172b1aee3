import type { ModelRule, ModelSetting } from '../formats/model-rule.ts'

const source = 'https://docs.x.ai/docs/guides/reasoning'
const checked = '2026-11-23'

/** Its reasoning models answer 400 to these. */
const refuses: readonly ModelSetting[] = ['sampling.presencePenalty', 'sampling.frequencyPenalty', 'sampling.stop']

/** What xAI's models accept: the first prefix that matches applies. */
export const xaiModels: readonly ModelRule[] = (
  [
    { model: 'grok-4.20-multi-agent', efforts: ['low', 'medium', 'high', 'xhigh'], refuses },
    { model: 'grok-4.20-0309-non-reasoning', efforts: [] },
    { model: 'grok-4.20-non-reasoning', efforts: [] },
    { model: 'grok-4.20', efforts: [], refuses },
    { model: 'grok-4.3', efforts: ['none', 'low', 'medium', 'high'], refuses },
    { model: 'grok-4.5', efforts: ['low', 'medium', 'high'], refuses },
    { model: 'grok-4.6', efforts: ['low', 'medium', 'high', 'xhigh'], refuses },
    { model: 'grok-4-1-fast-non-reasoning', efforts: [] },
    { model: 'grok-4-fast-non-reasoning', efforts: [] },
    { model: 'grok-4-', efforts: [], refuses },
    { model: 'grok-code', efforts: [], refuses },
    { model: 'grok-build', efforts: [], refuses },
    { model: 'grok-3-mini', efforts: ['low', 'high'], refuses },
    { model: 'grok-3', efforts: [] },
  ] satisfies readonly ModelRule[]
).map((rule) => ({ ...rule, checked, source }))
