import type { Effort } from '../../formats/ir.ts'
import type { ModelCapabilities, ModelCard, ModelCardRow, ModelModalities } from '../../formats/model-card.ts'
import { catalog, row } from './row.ts'

const models = 'https://ai.google.dev/gemini-api/docs/models'

const modalities: ModelModalities = { input: ['text', 'image', 'video', 'audio', 'document'], output: ['text'] }

const plain: ModelCapabilities = { tools: true, structuredOutputs: true, caching: true, reasoning: false }
const budget: ModelCapabilities = { ...plain, reasoning: true, reasoningBudget: true }
const levels = (efforts: readonly Effort[]): ModelCapabilities => ({ ...plain, reasoning: true, efforts })

/** Models with a limit for input and another one for output. */
const separate = (maxOutput: number): ModelCard => ({ contextWindow: 1_048_576, maxInput: 1_048_576, maxOutput })
const prices = (input: number, cachedInput: number, output: number): ModelCard => ({
  prices: { input, cachedInput, output },
})

/** Google's Gemini models. Prices are those of text, for prompts up to 200,000 tokens. */
export const googleCards: readonly ModelCardRow[] = [
  // Input and output share the window. The output limit depends on how the model is called.
  {
    model: 'gemini-4-argon',
    contextWindow: 1_048_576,
    source: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/start/get-started-with-gemini-4',
  },
  row(
    'gemini-3.8-flash',
    `${models}/gemini-3.8-flash`,
    modalities,
    levels(['low', 'medium', 'high']),
    separate(65_536),
    {
      prices: { input: 0.75, output: 3.75 },
    },
  ),
  row(
    'gemini-3.5-flash',
    catalog,
    modalities,
    levels(['minimal', 'low', 'medium', 'high']),
    separate(65_536),
    prices(1.5, 0.15, 9),
  ),
  row(
    'gemini-3.1-flash-lite',
    catalog,
    modalities,
    { ...plain, reasoning: true },
    separate(65_536),
    prices(0.25, 0.025, 1.5),
  ),
  row(
    'gemini-3.1-pro',
    `${models}/gemini-3.1-pro-preview`,
    modalities,
    { ...plain, reasoning: true },
    separate(65_536),
    prices(2, 0.2, 12),
  ),
  row(
    'gemini-3-pro',
    `${models}/gemini-3-pro-preview`,
    modalities,
    { ...plain, reasoning: true },
    separate(65_536),
    prices(2, 0.2, 12),
  ),
  row('gemini-3-flash', catalog, modalities, { ...plain, reasoning: true }, separate(65_536), prices(0.5, 0.05, 3)),
  row('gemini-2.5-pro', catalog, modalities, budget, separate(65_536), prices(1.25, 0.125, 10)),
  row('gemini-2.5-flash-lite', catalog, modalities, budget, separate(65_536), prices(0.1, 0.01, 0.4)),
  row('gemini-2.5-flash', catalog, modalities, budget, separate(65_536), prices(0.3, 0.03, 2.5)),
  row('gemini-2.0-flash', `${models}/gemini-2.0-flash`, modalities, plain, separate(8192), prices(0.1, 0.025, 0.4)),
]
