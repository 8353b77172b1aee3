import type { Effort } from '../../formats/ir.ts'
import type { ModelCapabilities, ModelCard, ModelCardRow, ModelModalities } from '../../formats/model-card.ts'
import { catalog, row } from './row.ts'

const models = 'https://platform.claude.com/docs/en/models'

const modalities: ModelModalities = { input: ['text', 'image', 'document'], output: ['text'] }

const common: ModelCapabilities = { tools: true, caching: true, reasoning: true }
/** Models that think within a budget of tokens. */
const budget: ModelCapabilities = { ...common, structuredOutputs: true, reasoningBudget: true }
/** Models that accept an effort, and a budget only if `reasoningBudget` is set. */
const adaptive = (efforts: readonly Effort[], reasoningBudget = false): ModelCapabilities => ({
  ...common,
  structuredOutputs: true,
  efforts,
  reasoningBudget,
})
const always: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max']
const switchable: readonly Effort[] = ['none', ...always]

const million: ModelCard = { contextWindow: 1_000_000, maxOutput: 128_000 }
const twoHundred: ModelCard = { contextWindow: 200_000, maxOutput: 64_000 }

/** Cache writes for five minutes cost 1.25 times the input. */
const prices = (input: number, output: number, cachedInput?: number): ModelCard => ({
  prices: { input, output, ...(cachedInput === undefined ? {} : { cachedInput, cacheWrite: input * 1.25 }) },
})

/** Anthropic's models. */
export const anthropicCards: readonly ModelCardRow[] = [
  row('claude-fable-5-2', `${models}/opus-5/overview`, modalities, adaptive(always), million, prices(8, 40)),
  row('claude-fable-5-1', `${models}/opus-5/overview`, modalities, adaptive(always), million, prices(10, 50)),
  row('claude-fable-5', `${models}/opus-5/overview`, modalities, adaptive(always), million, prices(10, 50, 1)),
  row('claude-opus-5-5', `${models}/opus-5/overview`, modalities, adaptive(always), million, prices(4, 20)),
  row('claude-opus-5', `${models}/opus-5/overview`, modalities, adaptive(switchable), million, prices(5, 25, 0.5)),
  row('claude-opus-4-8', catalog, modalities, adaptive(switchable), million, prices(5, 25, 0.5)),
  row('claude-opus-4-7', catalog, modalities, adaptive(switchable), million, prices(5, 25, 0.5)),
  row(
    'claude-opus-4-6',
    catalog,
    modalities,
    adaptive(['none', 'low', 'medium', 'high', 'max'], true),
    million,
    prices(5, 25, 0.5),
  ),
  row(
    'claude-opus-4-5',
    catalog,
    modalities,
    { ...budget, efforts: ['none', 'low', 'medium', 'high'] },
    twoHundred,
    prices(5, 25, 0.5),
  ),
  row('claude-sonnet-5-5', `${models}/sonnet-5-5/overview`, modalities, adaptive(always), million, prices(2, 10)),
  row('claude-sonnet-5', `${models}/sonnet-5/overview`, modalities, adaptive(switchable), million, prices(2, 10, 0.2)),
  row(
    'claude-sonnet-4-6',
    catalog,
    modalities,
    adaptive(['none', 'low', 'medium', 'high', 'max'], true),
    million,
    prices(3, 15, 0.3),
  ),
  row('claude-sonnet-4-5', catalog, modalities, budget, twoHundred, prices(3, 15, 0.3)),
  // Prices of prompts up to 100,000 tokens.
  row('claude-haiku-5-5', `${models}/haiku-5-5/overview`, modalities, adaptive(switchable), million, prices(0.1, 0.5)),
  row('claude-haiku-4-5', catalog, modalities, budget, twoHundred, prices(1, 5, 0.1)),
]
