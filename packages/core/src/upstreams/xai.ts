import type { ModelRule, ModelSetting } from '../formats/target-traits.ts'
import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/** Options of `xai`. */
export interface XaiOptions extends FormatOptions<'responses' | 'chat'> {
  /**
   * The server accepts requests in the format responses on a WebSocket, at the URL of the format. Default: true at xAI's own address,
   * false at another `baseURL`.
   */
  webSocket?: boolean
}

/**
 * Creates the upstream for xAI. `baseURL` defaults to `https://api.x.ai`; it may include `/v1`. Formats: responses and chat. xAI
 * has removed its messages endpoint.
 */
export const xai = (options: XaiOptions = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'https://api.x.ai',
      keyVariable: 'XAI_API_KEY',
      formats: ['responses', 'chat'],
      // xAI's completions do not accept reasoning models, so text completions are translated to chat.
      operations: ['images'],
      realtime: true,
      compaction: ['path'],
      webSocket: options.webSocket ?? options.baseURL === undefined,
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

/** Settings that reasoning models reject with 400. */
const refuses: readonly ModelSetting[] = ['sampling.presencePenalty', 'sampling.frequencyPenalty', 'sampling.stop']

/** Settings that xAI's models accept. The first matching prefix applies. */
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
