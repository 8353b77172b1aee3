import { describe, expect, it } from 'vitest'
import type { Logger, ModelCardsConfig, Target } from '../config/config.ts'
import type { Plugin, PluginHost } from '../config/plugin.ts'
import type { ModelCard } from '../formats/model-card.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { gemini } from '../upstreams/gemini.ts'
import { openai } from '../upstreams/openai.ts'
import { voyage } from '../upstreams/voyage.ts'

const silent: Logger = { error: () => {}, warn: () => {} }

function make(plugins: readonly Plugin[] = [], logger: Logger | false = false): Pick<PluginHost, 'describeModels'> {
  return createGateway({
    auth: 'none',
    upstreams: {
      openai: openai({ apiKey: 'k', modelRules: [{ model: 'gpt-5.4', like: 'gpt-5.4', contextWindow: 400_000 }] }),
      anthropic: anthropic({ apiKey: 'k' }),
      voyage: voyage({ apiKey: 'k' }),
      gemini: gemini({ apiKey: 'k' }),
    },
    models: {
      smart: { targets: [{ upstream: 'openai', model: 'gpt-5.4' }] },
      either: [
        { upstream: 'openai', model: 'gpt-5.4' },
        { upstream: 'anthropic', model: 'claude-unheard-of' },
      ],
      vectors: { upstream: 'voyage', model: 'voyage-3.5' },
      'gemini-2.5-flash': 'gemini',
      'gemini-2.5-flash-image': 'gemini',
      'gemini-2.5-flash-preview-tts': 'gemini',
      'own-name': 'openai',
      '*': 'openai',
    },
    plugins,
    logger,
  })
}

const operationsOf = async (name: string) => (await make().describeModels([name]))[0]?.operations

it.each([
  ['smart', ['generate']],
  ['either', ['generate']],
  ['vectors', ['embeddings']],
  ['text-embedding-3-small', ['embeddings']],
  ['omni-moderation-latest', ['moderations']],
  ['gpt-4o-transcribe', ['transcriptions', 'translations']],
  ['whisper-1', ['transcriptions', 'translations']],
  ['gpt-4o-mini-tts', ['speech']],
  ['gpt-image-1', ['images', 'image-edits', 'image-variations']],
  ['chatgpt-image-latest', ['images', 'image-edits', 'image-variations']],
  ['demo-image', ['images', 'image-edits', 'image-variations']],
  ['gemini-2.5-flash', ['generate']],
  ['gemini-2.5-flash-image', ['generate', 'images', 'image-edits']],
  ['gemini-2.5-flash-preview-tts', ['speech']],
  ['demo-speech', ['speech']],
  ['demo-chat', ['generate']],
  ['team-gpt-5.4', ['generate']],
  ['gpt-realtime', ['realtime-sessions']],
  ['gpt-4o-audio-preview', ['generate']],
] as const)('finds the operations of %s', async (name, operations) => {
  expect(await operationsOf(name)).toEqual(operations)
})

it('offers a model of unknown kind for everything that its upstream supports', async () => {
  expect(await operationsOf('own-name')).toEqual(expect.arrayContaining(['generate', 'embeddings', 'speech']))
})

it('reports the efforts and the context window if all targets are known', async () => {
  const [smart, either] = await make().describeModels(['smart', 'either'])
  expect(smart).toMatchObject({ efforts: expect.arrayContaining(['none', 'high']), contextWindow: 400_000 })
  expect(either).not.toHaveProperty('contextWindow')
  expect(either).not.toHaveProperty('efforts')
})

const facts = (contextWindow: number, more: ModelCard = {}): ModelCard => ({ contextWindow, ...more })

describe('the facts of several targets', () => {
  const describeOne = async (...targets: readonly Partial<Target<'up'>>[]) => {
    const gateway = createGateway({
      auth: 'none',
      upstreams: { up: openai({ apiKey: 'k' }) },
      models: { m: { targets: targets.map((target) => ({ upstream: 'up' as const, model: 'unknown', ...target })) } },
      logger: false,
    })
    const [described] = await gateway.describeModels(['m'])
    return described
  }

  it('are those that hold for all of them', async () =>
    expect(
      await describeOne(
        {
          card: {
            contextWindow: 300,
            maxOutput: 30,
            modalities: { input: ['text', 'image', 'audio'], output: ['text'] },
            capabilities: { tools: true, caching: true, efforts: ['none', 'low'] },
          },
        },
        {
          card: {
            contextWindow: 200,
            maxInput: 150,
            maxOutput: 40,
            modalities: { input: ['text', 'image'], output: ['text'] },
            capabilities: { tools: true, caching: false, structuredOutputs: true, efforts: ['high'] },
          },
        },
      ),
    ).toMatchObject({
      contextWindow: 200,
      maxInput: 150,
      maxOutput: 30,
      modalities: { input: ['text', 'image'], output: ['text'] },
      capabilities: { tools: true, caching: false, reasoning: true },
      efforts: ['none', 'low', 'high'],
    }))

  it('are unknown if one target is unknown, except for features that another one lacks', async () => {
    const described = await describeOne(
      { card: facts(300, { maxOutput: 30, modalities: { input: ['text'] }, capabilities: { tools: false } }) },
      {},
    )
    expect(described).toEqual({ id: 'm', operations: expect.any(Array), capabilities: { tools: false } })
  })

  it.each<[string, readonly Partial<Target<'up'>>[], number | undefined]>([
    ['is the smallest', [{ card: facts(300) }, { card: facts(200) }], 200],
    [
      'is not limited by a target that accepts only what fits',
      [{ card: facts(100), when: 'fits' }, { card: facts(300) }],
      300,
    ],
    [
      'is the largest if all targets accept only what fits',
      [
        { card: facts(100), when: 'fits' },
        { card: facts(300), when: ['fits', 'tools'] },
      ],
      300,
    ],
    ['is unknown if a target that accepts everything is unknown', [{ card: facts(100), when: 'fits' }, {}], undefined],
  ])('have a context window that %s', async (_, targets, contextWindow) =>
    expect((await describeOne(...targets))?.contextWindow).toBe(contextWindow),
  )
})

it("takes the facts of a plan's card in place of those of its targets", async () => {
  const gateway = createGateway({
    auth: 'none',
    upstreams: { openai: openai({ apiKey: 'k' }) },
    models: {
      m: {
        targets: [{ upstream: 'openai', model: 'gpt-5' }],
        card: { name: 'House model', contextWindow: 200_000, prices: { input: 1 } },
      },
    },
    logger: false,
  })
  expect(await gateway.describeModels(['m'])).toMatchObject([
    { name: 'House model', contextWindow: 200_000, maxOutput: 128_000, prices: [{ currency: 'USD', input: 1 }] },
  ])
})

it.each<[string, ModelCardsConfig | undefined, object | undefined]>([
  ['the shipped table', undefined, { contextWindow: 400_000 }],
  ['no table', { table: false }, undefined],
  [
    'a table of the configuration',
    { table: { checked: '', cards: [{ model: 'gpt-5', contextWindow: 7 }] } },
    { contextWindow: 7 },
  ],
])('takes facts from %s', async (_, modelCards, expected) => {
  const gateway = createGateway({
    auth: 'none',
    upstreams: { openai: openai({ apiKey: 'k' }) },
    models: { '*': 'openai' },
    ...(modelCards === undefined ? {} : { modelCards }),
    logger: false,
  })
  const [described] = await gateway.describeModels(['gpt-5'])
  expect(described?.contextWindow).toBe((expected as { contextWindow?: number } | undefined)?.contextWindow)
})

it.each<[string, ModelCardsConfig, boolean, readonly object[] | undefined]>([
  ['prices of the table are hidden', {}, false, undefined],
  [
    'prices of the table are shown if enabled',
    { prices: true },
    false,
    [{ currency: 'USD', input: 1.25, cachedInput: 0.125, output: 10 }],
  ],
  ['prices of a plugin precede those of the table', { prices: true }, true, [{ currency: 'EUR', input: 9 }]],
  ['prices of a plugin are shown', {}, true, [{ currency: 'EUR', input: 9 }]],
])('%s', async (_, modelCards, hasPlugin, expected) => {
  const plugins: readonly Plugin[] = hasPlugin
    ? [{ name: 'prices', priceOf: () => ({ currency: 'EUR', input: 9 }) }]
    : []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { openai: openai({ apiKey: 'k' }) },
    models: { '*': 'openai' },
    modelCards,
    plugins,
    logger: false,
  })
  const [described] = await gateway.describeModels(['gpt-5'])
  expect(described?.prices).toEqual(expected)
})

it('asks the plugins for prices by upstream and model, and lists equal prices once', async () => {
  const asked: unknown[] = []
  const priceOf: Plugin['priceOf'] = (target) => {
    asked.push(target)
    return { currency: 'USD', input: target.upstream === 'openai' ? 1.25 : 5, output: 10 }
  }
  const [either] = await make([{ name: 'prices', priceOf }]).describeModels(['either'])
  expect(asked).toEqual([
    { upstream: 'openai', model: 'gpt-5.4' },
    { upstream: 'anthropic', model: 'claude-unheard-of' },
  ])
  expect(either?.prices).toEqual([
    { currency: 'USD', input: 1.25, output: 10 },
    { currency: 'USD', input: 5, output: 10 },
  ])
})

it('names no upstream', async () => {
  expect(JSON.stringify(await make().describeModels(['smart']))).not.toMatch(/openai|gpt-5/)
})

it.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('boom')
    },
  ],
  ['returns a promise', async () => ({ currency: 'USD' })],
  ['returns no price', () => 5],
])('has no price from a plugin that %s, and logs it', async (_, priceOf) => {
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const plugin = { name: 'prices', priceOf } as unknown as Plugin
  const [smart] = await make([plugin], { ...silent, error: log, warn: log }).describeModels(['smart'])
  expect(smart).not.toHaveProperty('prices')
  expect(logged.join()).toMatch(/prices/)
})
