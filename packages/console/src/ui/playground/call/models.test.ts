import type { ModelDescription } from '@modelgate/core'
import { expect, it } from 'vitest'
import { modelFacts } from './models.ts'

it.each<[string, Partial<ModelDescription>, readonly string[]]>([
  ['nothing is known', {}, []],
  [
    'everything is known',
    {
      name: 'House model',
      contextWindow: 1_050_000,
      maxOutput: 128_000,
      modalities: { input: ['text', 'image', 'document'], output: ['text'] },
      capabilities: { tools: true, structuredOutputs: true, reasoning: true },
      efforts: ['low', 'high'],
      prices: [{ currency: 'USD', input: 1.25, output: 10 }],
    },
    [
      'House model',
      '1.1M context',
      '128K output',
      'images, documents',
      'reasoning: low, high',
      '$1.25 in / M',
      '$10 out / M',
    ],
  ],
  [
    'features are missing',
    { modalities: { input: ['text'] }, capabilities: { tools: false, structuredOutputs: false, reasoning: false } },
    ['no reasoning', 'no tools', 'no JSON schemas'],
  ],
  ['the model reasons without efforts', { capabilities: { reasoning: true } }, ['reasoning']],
  ['no effort is accepted', { efforts: [], capabilities: { reasoning: false } }, ['no reasoning']],
  [
    'targets have different prices',
    {
      prices: [
        { currency: 'USD', input: 1 },
        { currency: 'USD', input: 3 },
      ],
    },
    ['$1–$3 in / M'],
  ],
])('lists the facts of a model if %s', (_, facts, expected) =>
  expect(modelFacts({ id: 'm', operations: ['generate'], ...facts })).toEqual(expected),
)
