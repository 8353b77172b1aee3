import { describe, expect, it } from 'vitest'
import type { GatewayConfig } from '../../config/config.ts'
import type { ModelRule } from '../../formats/target-traits.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import { openai } from '../openai.ts'
import { checkCard, checkModelCards } from './check-card.ts'

const problemsOf = (check: (report: (problem: string) => void) => void): readonly string[] => {
  const problems: string[] = []
  check((problem) => problems.push(problem))
  return problems
}

describe('a card', () => {
  it('with every fact is valid', () =>
    expect(
      problemsOf((report) =>
        checkCard(
          {
            name: 'My model',
            contextWindow: 8192,
            maxInput: 8000,
            maxOutput: 192,
            modalities: { input: ['text', 'image', 'audio', 'video', 'document'], output: ['text'] },
            capabilities: {
              tools: true,
              structuredOutputs: false,
              caching: true,
              reasoning: true,
              efforts: ['none', 'low'],
              reasoningBudget: false,
            },
            prices: {
              currency: 'EUR',
              input: 0,
              output: 2,
              cachedInput: 0.1,
              cacheWrite: 3,
              image: 1,
              minute: 1,
              characters: 1,
              request: 1,
            },
          },
          'card',
          report,
        ),
      ),
    ).toEqual([]))

  it.each<[unknown, string]>([
    [
      5,
      'card is not an object: write some of name, contextWindow, maxInput, maxOutput, modalities, capabilities, prices',
    ],
    [
      { contextwindow: 5 },
      "card.contextwindow is unknown. Did you mean 'contextWindow'? Known fields: name, contextWindow, maxInput, maxOutput, modalities, capabilities, prices",
    ],
    [
      { max_output: 5 },
      "card.max_output is unknown. Did you mean 'maxOutput'? Known fields: name, contextWindow, maxInput, maxOutput, modalities, capabilities, prices",
    ],
    [{ name: 5 }, 'card.name is 5: write a string'],
    [{ contextWindow: 0 }, 'card.contextWindow is 0: write a whole number of tokens greater than 0'],
    [{ maxInput: 1.5 }, 'card.maxInput is 1.5: write a whole number of tokens greater than 0'],
    [{ maxOutput: '8192' }, 'card.maxOutput is "8192": write a whole number of tokens greater than 0'],
    [{ modalities: ['text'] }, 'card.modalities is not an object: write some of input, output'],
    [
      { modalities: { input: ['pictures'] } },
      'card.modalities.input is ["pictures"]: write a list of text, image, audio, video, document',
    ],
    [
      { modalities: { output: 'text' } },
      'card.modalities.output is "text": write a list of text, image, audio, video, document',
    ],
    [{ capabilities: { tools: 'yes' } }, 'card.capabilities.tools is "yes": write true or false'],
    [
      { capabilities: { efforts: ['extreme'] } },
      'card.capabilities.efforts is ["extreme"]: write a list of none, minimal, low, medium, high, xhigh, max',
    ],
    [{ prices: { input: -1 } }, 'card.prices.input is -1: write a number from 0, or leave it out if it is unknown'],
    [{ prices: { currency: 5 } }, 'card.prices.currency is 5: write a string'],
  ])('%j is rejected', (card, problem) =>
    expect(problemsOf((report) => checkCard(card, 'card', report))).toEqual([problem]),
  )
})

describe('the settings of model cards', () => {
  it.each<[unknown]>([
    [undefined],
    [{}],
    [{ table: false, prices: true }],
    [{ table: { checked: '2026-11-28', cards: [{ model: 'x', host: 'h', source: 's', contextWindow: 5 }] } }],
  ])('%j are valid', (given) => expect(problemsOf((report) => checkModelCards(given, report))).toEqual([]))

  it.each<[unknown, string]>([
    [true, 'modelCards is not an object: write some of table, prices'],
    [{ price: true }, 'modelCards.price is unknown. Known fields: table, prices'],
    [{ prices: 'yes' }, 'modelCards.prices is "yes": write true or false'],
    [
      { table: [] },
      "modelCards.table is not a table: write { checked: '2026-11-28', cards: [{ model: 'my-model', contextWindow: 8192 }] }, or false",
    ],
    [
      { table: { checked: 'x', cards: [{ contextWindow: 5 }] } },
      'modelCards.table.cards[0] has no model: set its name at the provider',
    ],
    [
      { table: { checked: 'x', cards: [{ model: 'm', contextWindow: -5 }] } },
      'modelCards.table.cards[0].contextWindow is -5: write a whole number of tokens greater than 0',
    ],
  ])('%j are rejected', (given, problem) =>
    expect(problemsOf((report) => checkModelCards(given, report))).toEqual([problem]),
  )
})

it('reports a card at every place of a configuration', () => {
  const bad = { contextWindow: -1 }
  const modelRules: readonly ModelRule[] = [{ model: 'x', card: bad }]
  const config: GatewayConfig = {
    auth: 'none',
    upstreams: { a: openai({ apiKey: 'k', modelRules }), b: openai({ apiKey: 'k' }) },
    models: {
      one: { upstream: 'b', card: bad },
      two: { targets: ['b', { upstream: 'b', model: 'x', card: bad }], card: bad },
    },
    modelCards: { table: { checked: '', cards: [{ model: 'x', ...bad }] } },
    logger: false,
  }
  const wrong = 'contextWindow is -1: write a whole number of tokens greater than 0'
  expect(() => createGateway(config)).toThrow(
    [
      'The configuration has 5 problems:',
      `- upstreams.a.modelRules[0].card.${wrong}`,
      `- models['one'].card.${wrong}`,
      `- models['two'].card.${wrong}`,
      `- models['two'][1].card.${wrong}`,
      `- modelCards.table.cards[0].${wrong}`,
    ].join('\n'),
  )
})
