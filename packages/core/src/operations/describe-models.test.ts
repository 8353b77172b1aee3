import { expect, it } from 'vitest'
import type { Logger } from '../config/config.ts'
import type { Plugin, PluginHost } from '../config/plugin.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { anthropic } from '../upstreams/anthropic.ts'
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
    },
    models: {
      smart: { targets: [{ upstream: 'openai', model: 'gpt-5.4' }] },
      either: [
        { upstream: 'openai', model: 'gpt-5.4' },
        { upstream: 'anthropic', model: 'claude-opus-5' },
      ],
      vectors: { upstream: 'voyage', model: 'voyage-3.5' },
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

it('asks the plugins for prices by upstream and model, and lists equal prices once', async () => {
  const asked: unknown[] = []
  const priceOf: Plugin['priceOf'] = (target) => {
    asked.push(target)
    return { currency: 'USD', input: target.upstream === 'openai' ? 1.25 : 5, output: 10 }
  }
  const [either] = await make([{ name: 'prices', priceOf }]).describeModels(['either'])
  expect(asked).toEqual([
    { upstream: 'openai', model: 'gpt-5.4' },
    { upstream: 'anthropic', model: 'claude-opus-5' },
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
