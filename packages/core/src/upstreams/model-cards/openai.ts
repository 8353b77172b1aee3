import type { ModelCapabilities, ModelCard, ModelCardRow, ModelModalities } from '../../formats/model-card.ts'
import { catalog, row } from './row.ts'

// Efforts are not repeated here: `openai-models.ts` has them as rules.

const models = 'https://developers.openai.com/api/docs/models'

const text: ModelModalities = { input: ['text'], output: ['text'] }
const images: ModelModalities = { input: ['text', 'image'], output: ['text'] }
const files: ModelModalities = { input: ['text', 'image', 'document'], output: ['text'] }

const plain: ModelCapabilities = { tools: true, structuredOutputs: true, caching: true, reasoning: false }
const reasons: ModelCapabilities = { ...plain, reasoning: true, reasoningBudget: false }

const million = { contextWindow: 1_050_000, maxInput: 922_000, maxOutput: 128_000 } as const
const fourHundred = { contextWindow: 400_000, maxInput: 272_000, maxOutput: 128_000 } as const
const twoHundred = { contextWindow: 200_000, maxOutput: 100_000 } as const
const chat = { contextWindow: 128_000, maxOutput: 16_384 } as const
const long = { contextWindow: 1_047_576, maxOutput: 32_768 } as const

/** Models of the sixth generation, and gpt-5.6: cache writes are billed. */
const writes = (input: number, cachedInput: number, cacheWrite: number, output: number): ModelCard => ({
  prices: { input, cachedInput, cacheWrite, output },
})
const reads = (input: number, cachedInput: number, output: number): ModelCard => ({
  prices: { input, cachedInput, output },
})
const uncached = (input: number, output: number): ModelCard => ({ prices: { input, output } })

/** OpenAI's chat models. Prices are those of the standard tier for short prompts. */
export const openaiCards: readonly ModelCardRow[] = [
  row('gpt-6.2-sol', `${models}/gpt-6.2-sol`, images, reasons, million, writes(2, 0.1, 2.5, 10)),
  row('gpt-6.2-astra', `${models}/gpt-6.2-astra`, images, reasons, million, writes(8, 0.4, 10, 40)),
  row('gpt-6.1-terra', `${models}/gpt-6.1-terra`, images, reasons, million, writes(1, 0.05, 1.25, 5)),
  row('gpt-6.1-sol', `${models}/gpt-6.1-sol`, images, reasons, million, writes(2, 0.1, 2.5, 10)),
  row('gpt-6-sol', `${models}/gpt-6-sol`, images, reasons, million, writes(2, 0.2, 2.5, 10)),
  row('gpt-6-luna', `${models}/gpt-6-luna`, images, reasons, million, writes(0.1, 0.01, 0.125, 0.5)),
  row('gpt-6-astra', `${models}/gpt-6-astra`, images, reasons, million, writes(10, 1, 12.5, 50)),
  row('gpt-5.6-sol', `${models}/compare`, images, reasons, million, writes(4, 0.4, 5, 20)),
  row('gpt-5.6-terra', `${models}/compare`, images, reasons, million, writes(2, 0.2, 2.5, 12)),
  row('gpt-5.6-luna', `${models}/compare`, images, reasons, million, writes(0.2, 0.02, 0.25, 1.2)),
  row('gpt-5.5-pro', catalog, files, { ...reasons, structuredOutputs: false }, million, uncached(30, 180)),
  row('gpt-5.5', `${models}/compare`, files, reasons, million, reads(5, 0.5, 30)),
  row('gpt-5.4-pro', catalog, images, { ...reasons, structuredOutputs: false }, million, uncached(30, 180)),
  row('gpt-5.4-mini', catalog, images, reasons, fourHundred, reads(0.75, 0.075, 4.5)),
  row('gpt-5.4-nano', catalog, images, reasons, fourHundred, reads(0.2, 0.02, 1.25)),
  row('gpt-5.4', catalog, files, reasons, million, reads(2.5, 0.25, 15)),
  row('gpt-5.3-codex', catalog, files, reasons, fourHundred, reads(1.75, 0.175, 14)),
  row('gpt-5.2-pro', catalog, images, { ...reasons, structuredOutputs: false }, fourHundred, uncached(21, 168)),
  row('gpt-5.2-codex', catalog, files, reasons, fourHundred, reads(1.75, 0.175, 14)),
  row('gpt-5.2', catalog, images, reasons, fourHundred, reads(1.75, 0.175, 14)),
  row('gpt-5.1-codex-max', catalog, images, reasons, fourHundred, reads(1.25, 0.125, 10)),
  row('gpt-5.1-codex-mini', catalog, images, reasons, fourHundred, reads(0.25, 0.025, 2)),
  row('gpt-5.1-codex', catalog, images, reasons, fourHundred, reads(1.25, 0.125, 10)),
  row('gpt-5.1', catalog, images, reasons, fourHundred, reads(1.25, 0.125, 10)),
  row('gpt-5-codex', `${models}/gpt-5-codex`, images, reasons, fourHundred, reads(1.25, 0.125, 10)),
  row('gpt-5-mini', catalog, images, reasons, fourHundred, reads(0.25, 0.025, 2)),
  row('gpt-5-nano', catalog, images, reasons, fourHundred, reads(0.05, 0.005, 0.4)),
  row('gpt-5', catalog, images, reasons, fourHundred, reads(1.25, 0.125, 10)),
  row('gpt-4.1-mini', catalog, files, plain, long, reads(0.4, 0.1, 1.6)),
  row('gpt-4.1-nano', catalog, images, plain, long, reads(0.1, 0.025, 0.4)),
  row('gpt-4.1', catalog, files, plain, long, reads(2, 0.5, 8)),
  row('gpt-4o-mini', catalog, files, plain, chat, reads(0.15, 0.075, 0.6)),
  // The first version has a smaller output limit and other prices.
  row('gpt-4o-2024-05-13', catalog, images, plain, { contextWindow: 128_000, maxOutput: 4096 }, uncached(5, 15)),
  row('gpt-4o', catalog, files, plain, chat, reads(2.5, 1.25, 10)),
  row('o4-mini', catalog, images, reasons, twoHundred, reads(1.1, 0.275, 4.4)),
  row('o3-mini', catalog, text, reasons, twoHundred, reads(1.1, 0.55, 4.4)),
  row('o3-pro', catalog, images, reasons, twoHundred, uncached(20, 80)),
  row('o3', catalog, files, reasons, twoHundred, reads(2, 0.5, 8)),
  row('o1-pro', catalog, images, reasons, twoHundred, uncached(150, 600)),
  row('o1', catalog, files, reasons, twoHundred, reads(15, 7.5, 60)),
]
