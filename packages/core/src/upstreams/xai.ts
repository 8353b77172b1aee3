import type { Upstream } from './upstream.ts'
import { type FormatOptions, versioned } from './versioned.ts'
import { xaiModels } from './xai-models.ts'

/**
 * xAI. `baseURL` defaults to `https://api.x.ai`, with or without `/v1`. It speaks responses and chat; messages, which it
 * also had, it gave up.
 */
export const xai = (options: FormatOptions<'responses' | 'chat'> = {}): Upstream =>
  versioned(
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
