import type { ModelRule, ModelSetting } from '../formats/target-traits.ts'
import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/**
 * xAI. `baseURL` defaults to `https://api.x.ai`, with or without `/v1`. It speaks responses and chat; messages, which it
 * also had, it gave up.
 */
export const xai = (options: FormatOptions<'responses' | 'chat'> = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'https://api.x.ai',
      keyVariable: 'XAI_API_KEY',
      formats: ['responses', 'chat'],
      // It has completions too, but not for models that reason: chat stands in.
      operations: ['images'],
      realtime: true,
      modelRules: xaiModels,
      quirks: {
        maxTokensField: 'max_completion_tokens',
        developerRole: 'developer',
        toolChoices: 'names',
        sealedReasoning: true,
        lacks: { logit_bias: 'ignored' },
      },
    },
    options,
  )

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
