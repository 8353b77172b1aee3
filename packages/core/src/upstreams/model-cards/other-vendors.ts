import type { ModelCapabilities, ModelCardRow, ModelModalities } from '../../formats/model-card.ts'
import { catalog } from './row.ts'

const text: ModelModalities = { input: ['text'], output: ['text'] }
const images: ModelModalities = { input: ['text', 'image'], output: ['text'] }
const video: ModelModalities = { input: ['text', 'image', 'video'], output: ['text'] }
const tools: ModelCapabilities = { tools: true }

const deepseek = {
  host: 'deepseek.com',
  contextWindow: 1_000_000,
  maxOutput: 384_000,
  capabilities: { tools: true, caching: true, reasoning: true },
  source: 'https://api-docs.deepseek.com/quick_start/pricing',
} as const satisfies Partial<ModelCardRow>

const mistral = (model: string, contextWindow: number, facts: Partial<ModelCardRow>): ModelCardRow => ({
  model,
  host: 'mistral.ai',
  contextWindow,
  source: catalog,
  ...facts,
})

const grok = (model: string, contextWindow: number, facts: Partial<ModelCardRow>): ModelCardRow => ({
  model,
  contextWindow,
  modalities: images,
  capabilities: { tools: true, structuredOutputs: true, caching: true, reasoning: true },
  source: catalog,
  ...facts,
})

/** Open models have other limits at each provider that serves them. */
const hosted = (
  host: string,
  model: string,
  maxOutput: number,
  input: number,
  output: number,
  capabilities: ModelCapabilities,
): ModelCardRow => ({
  model,
  host,
  contextWindow: 131_072,
  maxOutput,
  modalities: text,
  capabilities,
  prices: { input, output },
  source: catalog,
})

const cohere = (
  model: string,
  contextWindow: number,
  maxOutput: number,
  facts: Partial<ModelCardRow>,
): ModelCardRow => ({
  model,
  contextWindow,
  maxOutput,
  modalities: text,
  source: catalog,
  ...facts,
})

const nova = (model: string, contextWindow: number, facts: Partial<ModelCardRow>): ModelCardRow => ({
  model,
  contextWindow,
  capabilities: tools,
  source: catalog,
  ...facts,
})

const oss: ModelCapabilities = { tools: true, structuredOutputs: true, reasoning: true, reasoningBudget: false }
const flagship: ModelCapabilities = { tools: true, caching: true }

/** Models of DeepSeek, Mistral, xAI, Cohere and Amazon, and open models at Groq and Cerebras. */
export const otherCards: readonly ModelCardRow[] = [
  // Prices depend on the time of day.
  { model: 'deepseek-flash', modalities: images, ...deepseek },
  { model: 'deepseek-v4-flash', modalities: images, ...deepseek },
  { model: 'deepseek-v4-pro', modalities: text, ...deepseek },

  mistral('mistral-large-4', 1_048_576, {
    maxOutput: 262_144,
    modalities: images,
    capabilities: { ...flagship, structuredOutputs: true, reasoning: true },
    prices: { input: 0.7, output: 2.1 },
    source: 'https://vercel.com/ai-gateway/models/mistral/mistral-large-4',
  }),
  mistral('mistral-large-2512', 262_144, {
    modalities: images,
    capabilities: tools,
    prices: { input: 0.5, output: 1.5 },
  }),
  mistral('mistral-medium-2604', 262_144, {
    modalities: images,
    capabilities: { tools: true, structuredOutputs: true, reasoning: true },
    prices: { input: 1.5, output: 7.5 },
  }),
  mistral('mistral-medium-2508', 262_144, {
    modalities: images,
    capabilities: tools,
    prices: { input: 0.4, output: 2 },
  }),
  mistral('mistral-medium-2505', 131_072, {
    modalities: images,
    capabilities: tools,
    prices: { input: 0.4, output: 2 },
  }),
  mistral('mistral-small-2506', 128_000, {
    maxOutput: 16_384,
    modalities: images,
    capabilities: tools,
    prices: { input: 0.1, output: 0.3 },
  }),
  mistral('devstral-2512', 262_144, { modalities: text, capabilities: tools, prices: { input: 0.4, output: 2 } }),
  mistral('codestral', 256_000, { modalities: text, capabilities: tools, prices: { input: 0.3, output: 0.9 } }),

  grok('grok-4.7', 500_000, {
    capabilities: {
      tools: true,
      caching: true,
      reasoning: true,
      efforts: ['low', 'medium', 'high', 'xhigh'],
    },
    prices: { input: 2, output: 6 },
    source: 'https://docs.x.ai/developers/grok-4-7',
  }),
  grok('grok-4.5', 500_000, { prices: { input: 2, output: 6 }, source: 'https://docs.apiyi.com/en/models/grok-4-5' }),
  grok('grok-4.3', 1_000_000, {
    maxOutput: 30_000,
    modalities: { input: ['text', 'image', 'document'], output: ['text'] },
    prices: { input: 1.25, output: 2.5, cachedInput: 0.2 },
  }),

  hosted('groq.com', 'gpt-oss-120b', 65_536, 0.15, 0.6, oss),
  hosted('groq.com', 'gpt-oss-20b', 65_536, 0.075, 0.3, oss),
  hosted('groq.com', 'llama-3.3-70b-versatile', 32_768, 0.59, 0.79, { tools: true, reasoning: false }),
  hosted('groq.com', 'llama-3.1-8b-instant', 131_072, 0.05, 0.08, { tools: true, reasoning: false }),
  hosted('groq.com', 'qwen3-32b', 40_960, 0.29, 0.59, { tools: true, reasoning: true }),
  hosted('cerebras.ai', 'gpt-oss-120b', 40_960, 0.35, 0.75, oss),

  cohere('command-a-reasoning', 256_000, 32_000, {
    capabilities: { tools: true, structuredOutputs: true, reasoning: true },
    source: 'https://docs.cohere.com/docs/command-a-reasoning',
  }),
  cohere('command-a-vision', 128_000, 8000, { modalities: images, prices: { input: 2.5, output: 10 } }),
  cohere('command-a', 256_000, 8000, { capabilities: tools, prices: { input: 2.5, output: 10 } }),
  cohere('command-r-plus', 128_000, 4000, { capabilities: tools, prices: { input: 2.5, output: 10 } }),
  cohere('command-r7b', 128_000, 4000, { capabilities: tools, prices: { input: 0.0375, output: 0.15 } }),
  cohere('command-r', 128_000, 4000, { capabilities: tools, prices: { input: 0.15, output: 0.6 } }),

  nova('nova-2-lite', 1_000_000, {
    capabilities: { tools: true, reasoning: true },
    modalities: video,
    prices: { input: 0.33, output: 2.75 },
    source: 'https://vercel.com/ai-gateway/models/nova-2-lite',
  }),
  nova('nova-pro', 300_000, { modalities: video, prices: { input: 0.8, output: 3.2, cachedInput: 0.2 } }),
  nova('nova-lite', 300_000, { modalities: video, prices: { input: 0.06, output: 0.24, cachedInput: 0.015 } }),
  nova('nova-micro', 128_000, { modalities: text, prices: { input: 0.035, output: 0.14, cachedInput: 0.00875 } }),
]
