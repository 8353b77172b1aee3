import type { GenerateRequest, GenerateResponse } from 'ollama'
import { expect } from 'vitest'
import { objectOf } from '../base/json.ts'
import {
  type Case,
  citySchema,
  lossesOf,
  modelNames,
  pixel,
  pixelBytes,
  rejection,
  type SdkFixture,
} from './context.ts'
import { familyCases } from './families/family-cases.ts'
import { without } from './families/family-suite.ts'
import { ollamaFamilyClient } from './ollama-client.ts'

const say = (content: string) => [{ role: 'user', content }]
const statusOf = (error: { [key: string]: unknown }): unknown => error.status_code

/** `/api/generate`, whole and streamed. */
const modes = {
  whole: ({ ollama }: SdkFixture, request: GenerateRequest): Promise<GenerateResponse[]> =>
    ollama.generate({ ...request, stream: false }).then((response) => [response]),
  async streamed({ ollama }: SdkFixture, request: GenerateRequest): Promise<GenerateResponse[]> {
    const parts: GenerateResponse[] = []
    for await (const part of await ollama.generate({ ...request, stream: true })) parts.push(part)
    return parts
  },
}
const textIn = (parts: readonly GenerateResponse[]): string => parts.map(({ response = '' }) => response).join('')

const generateCases = Object.entries(modes).flatMap(([mode, generate]): readonly Case[] => [
  {
    name: `generates from a prompt, ${mode}`,
    async run(setting) {
      const parts = await generate(setting, { model: 'demo', system: 'Be brief.', prompt: '[[say:one two three]]' })
      expect(textIn(parts)).toBe('one two three')
      const last = parts.at(-1)
      expect(last).toMatchObject({ model: 'demo', done: true, done_reason: 'stop' })
      expect(last?.prompt_eval_count).toBeGreaterThan(0)
      expect(last?.eval_count).toBeGreaterThan(0)
      expect(last?.total_duration).toBeGreaterThan(0)
      expect(parts.slice(0, -1).every(({ done }) => !done)).toBe(true)
      expect(setting.fake.requests.at(-1)?.bodyText).toContain('Be brief.')
    },
  },
  {
    name: `generates from an image, with a schema, ${mode}`,
    async run(setting) {
      const shown = await generate(setting, { model: 'demo', prompt: 'What is this?', images: [pixel] })
      expect(textIn(shown)).toContain(`the image (image/png, ${pixelBytes} bytes)`)
      const structured = await generate(setting, {
        model: 'demo',
        prompt: 'Where is the tower of Pisa?',
        format: { ...citySchema },
      })
      expect(JSON.parse(textIn(structured))).toEqual({ city: expect.any(String) })
    },
  },
  {
    name: `receives thinking of a prompt, ${mode}`,
    async run(setting) {
      setting.fake.reply({ thinking: 'First I look.', text: 'It is late.' })
      const parts = await generate(setting, { model: 'demo', prompt: 'How late is it?', think: true })
      expect(textIn(parts)).toBe('It is late.')
      expect(parts.map(({ thinking = '' }) => thinking).join('')).toBe('First I look.')
    },
  },
])

/** Cases of Ollama's client, for servers that give the gateway its paths, and every upstream. */
export const ollamaCases: readonly Case[] = [
  // A request without messages loads a model.
  ...without(familyCases(ollamaFamilyClient, ['models', 'embed']), 'throws a 401, a 404 and a 400'),
  ...generateCases,
  {
    name: 'throws a 401, a 404 and a 400 with their messages',
    async run({ ollama, unknownTokenClients, fake }) {
      const before = fake.requests.length
      const unauthorized = await rejection(unknownTokenClients.ollama.chat({ model: 'demo', messages: say('hello') }))
      expect([statusOf(unauthorized), unauthorized.message]).toEqual([401, expect.stringContaining('API key')])
      const unknown = await rejection(ollama.chat({ model: 'no-such-model', messages: say('hello') }))
      expect([statusOf(unknown), unknown.message]).toEqual([404, expect.stringContaining('no-such-model')])
      const request = { model: 'demo', messages: say('hello'), options: { temperature: 'warm' as unknown as number } }
      const wrong = await rejection(ollama.chat(request))
      expect([statusOf(wrong), wrong.message]).toEqual([400, expect.stringContaining('options.temperature')])
      expect(fake.requests).toHaveLength(before)
    },
  },
  {
    name: 'loads and unloads a model without an upstream call',
    async run({ ollama, fake }) {
      const before = fake.requests.length
      expect(await ollama.chat({ model: 'demo' })).toMatchObject({ done: true, done_reason: 'load' })
      const unloaded = await ollama.generate({ model: 'demo', prompt: '', keep_alive: 0 })
      expect(unloaded).toMatchObject({ done: true, done_reason: 'unload' })
      expect(fake.requests).toHaveLength(before)
    },
  },
  {
    name: 'reads facts about models, the version, and that no model runs here',
    async run({ ollama }) {
      const { models } = await ollama.list()
      expect(models.map(({ model }) => model)).toEqual(modelNames.map((name) => `${name}:latest`))
      expect(models[0]).toMatchObject({ size: 0, digest: '', details: { family: '', families: [] } })
      for (const model of ['demo', 'demo:latest', 'org/model-2']) {
        const shown = await ollama.show({ model })
        expect(shown.capabilities).toContain('completion')
        expect(objectOf(shown.model_info)).toEqual({})
      }
      expect(statusOf(await rejection(ollama.show({ model: 'absent' })))).toBe(404)
      expect(await ollama.version()).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
      expect(await ollama.ps()).toEqual({ models: [] })
    },
  },
  {
    name: 'may request a model with the tag that the list adds',
    async run({ ollama, fake }) {
      await ollama.chat({ model: 'renamed:latest', messages: say('hello') })
      expect(fake.requests.at(-1)?.model).toBe('upstream-name')
    },
  },
  {
    name: 'receives an embedding of one prompt',
    async run({ ollama, upstream }) {
      const call = ollama.embeddings({ model: 'demo', prompt: 'one' })
      if (upstream === 'messages') expect((await rejection(call)).message).toContain('embeddings')
      else expect((await call).embedding[0]).toEqual(expect.any(Number))
    },
  },
  {
    name: 'gets told about options that no upstream has, and not about those of a machine',
    rare: true,
    async run(setting) {
      const options = { num_ctx: 4096, num_gpu: 1, mirostat: 1 }
      const losses = await lossesOf(setting, () =>
        setting.ollama.chat({ model: 'demo', messages: say('hello'), keep_alive: '5m', options }),
      )
      expect(losses.map(({ path }) => path)).toEqual(['/options/mirostat'])
    },
  },
  {
    name: 'throws a 501 for each way to manage models',
    async run({ ollama }) {
      for (const call of [
        () => ollama.pull({ model: 'demo' }),
        () => ollama.push({ model: 'demo' }),
        () => ollama.create({ model: 'demo', from: 'other' }),
        () => ollama.copy({ source: 'demo', destination: 'other' }),
        () => ollama.delete({ model: 'demo' }),
      ]) {
        const error = await rejection(call())
        expect([statusOf(error), error.message]).toEqual([501, expect.stringContaining('no models')])
      }
    },
  },
]
