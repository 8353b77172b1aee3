import { describe, expect, it } from 'vitest'
import type { ModelCard, ModelCardRow } from '../formats/model-card.ts'
import type { ModelRule } from '../formats/target-traits.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'
import type { ResolvedTarget } from './router.ts'
import { createTargetCards, mergeCards } from './target-cards.ts'

const table: readonly ModelCardRow[] = [
  {
    model: 'known',
    contextWindow: 1000,
    maxOutput: 100,
    modalities: { input: ['text', 'image'] },
    capabilities: { tools: true, reasoning: true, efforts: ['low'] },
    prices: { input: 1 },
    source: 'https://example.test',
  },
]
const target = (model: string, modelRules: readonly ModelRule[] = [], card?: ModelCard): ResolvedTarget => ({
  id: `up/${model}`,
  upstreamName: 'up',
  upstream: openaiCompatible({ baseURL: 'http://up.test/v1', modelRules }),
  model,
  priority: 0,
  weight: 1,
  ...(card === undefined ? {} : { card }),
})
const cardOf = (...given: Parameters<typeof target>) => createTargetCards(table).cardOf(target(...given))

describe('the card of a target', () => {
  it('comes from the table, without what is not a fact', () =>
    expect(cardOf('known')).toEqual({
      contextWindow: 1000,
      maxOutput: 100,
      modalities: { input: ['text', 'image'] },
      capabilities: { tools: true, reasoning: true, efforts: ['low'] },
    }))

  it('is empty for an unknown model', () => expect(cardOf('unknown')).toEqual({}))

  it.each<[string, readonly ModelRule[], ModelCard | undefined, ModelCard]>([
    ['a rule', [{ model: 'known', contextWindow: 2000 }], undefined, { contextWindow: 2000, maxOutput: 100 }],
    [
      "a rule's card",
      [{ model: 'known', card: { maxOutput: 7, modalities: { output: ['text'] } } }],
      undefined,
      { contextWindow: 1000, maxOutput: 7, modalities: { input: ['text', 'image'], output: ['text'] } },
    ],
    [
      "the target's card",
      [{ model: 'known', contextWindow: 2000 }],
      { contextWindow: 3000, capabilities: { tools: false } },
      { contextWindow: 3000, capabilities: { tools: false, reasoning: true, efforts: ['low'] } },
    ],
  ])('takes facts of %s in place of those of the table', (_, rules, card, expected) =>
    expect(cardOf('known', rules, card)).toMatchObject(expected),
  )

  it('has no input limit of another context window, and no output limit above its own', () => {
    const rows: readonly ModelCardRow[] = [{ model: 'm', contextWindow: 1000, maxInput: 900, maxOutput: 100 }]
    const cardWith = (card: ModelCard) => createTargetCards(rows).cardOf(target('m', [], card))
    expect(cardWith({ contextWindow: 500 })).toEqual({ contextWindow: 500, maxOutput: 100 })
    expect(cardWith({ contextWindow: 50 })).toEqual({ contextWindow: 50 })
    expect(cardWith({ contextWindow: 500, maxInput: 400 })).toEqual({
      contextWindow: 500,
      maxInput: 400,
      maxOutput: 100,
    })
    expect(cardWith({ maxOutput: 90 })).toEqual({ contextWindow: 1000, maxInput: 900, maxOutput: 90 })
  })

  it('uses the table for the model that a rule names for a deployment', () =>
    expect(cardOf('my-deployment', [{ model: 'my-deployment', like: 'known' }])).toMatchObject({ contextWindow: 1000 }))

  it('does not reason if its upstream accepts no effort', () =>
    expect(cardOf('known', [{ model: 'known', efforts: [] }])).toMatchObject({
      capabilities: { reasoning: false, efforts: [] },
    }))

  it('shows only configured prices, and those of the table separately', () => {
    const cards = createTargetCards(table)
    expect(cards.cardOf(target('known'))).not.toHaveProperty('prices')
    expect(cards.tablePricesOf(target('known'))).toEqual({ input: 1 })
    expect(cards.cardOf(target('known', [], { prices: { input: 2 } })).prices).toEqual({ input: 2 })
  })
})

it('does not replace a fact by an undefined one', () =>
  expect(
    mergeCards({ contextWindow: 5, capabilities: { tools: true } }, {
      contextWindow: undefined,
      capabilities: { tools: undefined },
    } as unknown as ModelCard),
  ).toEqual({ contextWindow: 5, capabilities: { tools: true } }))

describe('a request', () => {
  // 10 % are added to the estimated input.
  it.each<[string, ModelCard, number, number | undefined, object | undefined]>([
    ['fits a model without known limits', {}, 10 ** 9, 10 ** 9, undefined],
    ['fits a model of which only the output limit is known', { maxOutput: 5 }, 10 ** 9, 10 ** 9, undefined],
    ['fits to the last token', { contextWindow: 1100 }, 900, 110, undefined],
    ['exceeds by one token', { contextWindow: 1099 }, 900, 110, { input: 990, output: 110, limit: 1099 }],
    ['is too long by itself', { contextWindow: 1000 }, 1000, 0, { input: 1100, output: 0, limit: 1000 }],
    [
      'without an output limit reserves 4,096 tokens',
      { contextWindow: 5000 },
      900,
      undefined,
      {
        input: 990,
        output: 4096,
        limit: 5000,
      },
    ],
    ['reserves no more than the model can return', { contextWindow: 1100, maxOutput: 100 }, 900, 64_000, undefined],
    ['exceeds the input limit', { contextWindow: 9000, maxInput: 900 }, 900, 1, { input: 990, output: 0, limit: 900 }],
    [
      'has a separate limit for its output',
      { contextWindow: 1000, maxInput: 1000, maxOutput: 500 },
      900,
      500,
      undefined,
    ],
  ])('%s', (_, card, input, output, excess) =>
    expect(createTargetCards([]).excessOf(target('m', [], card), { card: undefined }, { input, output })).toEqual(
      excess,
    ),
  )

  it("is compared with the limits of the plan's card if those of the target are unknown", () => {
    const cards = createTargetCards([])
    const plan = { card: { contextWindow: 100 } }
    const size = { input: 100, output: 0 }
    expect(cards.excessOf(target('m'), plan, size)).toMatchObject({ limit: 100 })
    expect(cards.excessOf(target('m', [], { contextWindow: 200 }), plan, size)).toBeUndefined()
  })
})
