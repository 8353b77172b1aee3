import { until } from '@modelgate/testing/test-support'
import { expect } from 'vitest'
import { objectOf } from '../../base/json.ts'
import {
  type Case,
  callResults,
  citySchema,
  clientToken,
  modelNames,
  overloadedAt,
  pixel,
  pixelBytes,
  rejection,
  type SdkFixture,
  twoCalls,
} from '../context.ts'
import type { CreateFamilyClient, FamilyClient, Heard, Message, Question } from './family-client.ts'

const say = (text: string): Message[] => [{ role: 'user', text }]
const tools = ['get_weather', 'get_time']

type Ask = (question: Omit<Question, 'stream'>) => Promise<Heard>

/** Failures of the upstream, and the status that the client gets. */
const failures = [
  { name: '429', text: '[[status:429 retry-after:1]]', status: 429 },
  { name: '500', text: '[[status:500]]', status: 502 },
  { name: 'overloaded', text: '[[status:529]]', status: 503 },
]

/**
 * Returns the cases of a vendor's own client, for upstreams of every format.
 *
 * @param has the optional functions that the client has
 */
export function familyCases(create: CreateFamilyClient, has: readonly ('models' | 'embed')[]): readonly Case[] {
  const clientOf = ({ origin, fetch }: SdkFixture, token = clientToken): FamilyClient => create(origin, token, fetch)
  const inBothModes = (
    name: string,
    run: (setting: SdkFixture, ask: Ask, client: FamilyClient) => Promise<void>,
  ): readonly Case[] =>
    [false, true].map((stream) => ({
      name: `${name}, ${stream ? 'streamed' : 'whole'}`,
      run(setting) {
        const client = clientOf(setting)
        return run(setting, (question) => client.ask({ ...question, stream }), client)
      },
    }))

  return [
    ...inBothModes('receives text', async (_setting, ask, { finish }) => {
      const heard = await ask({ messages: say('[[say:Hello — wörld 🙂]]') })
      expect([heard.text, heard.calls, heard.finish]).toEqual(['Hello — wörld 🙂', [], finish.stop])
    }),
    ...inBothModes('receives the usage', async (_setting, ask) => {
      const { usage } = await ask({ messages: say('[[words:20]]') })
      expect(usage?.input).toBeGreaterThan(0)
      expect(usage?.output).toBeGreaterThan(10)
    }),
    ...inBothModes('completes a parallel tool round trip', async (_setting, ask, { finish }) => {
      const first = say(twoCalls)
      const { message, calls, finish: reason } = await ask({ messages: first, tools })
      expect(reason).toBe(finish.tools)
      expect(calls.map(({ name, input }) => [name, input])).toEqual([
        ['get_weather', { city: 'Paris' }],
        ['get_time', { city: 'Oslo' }],
      ])
      const results = calls.map((call): Message => ({ role: 'tool', call, result: callResults[call.name] ?? '' }))
      const { text } = await ask({ messages: [...first, { role: 'assistant', message }, ...results], tools })
      expect(text).toContain('get_weather answered: 18 degrees')
      expect(text).toContain('get_time answered: half past nine')
    }),
    ...inBothModes('receives structured output', async (_setting, ask) => {
      const { text } = await ask({ messages: say('Where is the tower of Pisa?'), schema: objectOf(citySchema) })
      expect(JSON.parse(text)).toEqual({ city: expect.any(String) })
    }),
    {
      name: 'receives a stream in pieces',
      async run(setting) {
        const pieces: string[] = []
        const question = {
          messages: say('[[words:20]]'),
          stream: true,
          onText: (text: string) => void pieces.push(text),
        }
        const { text } = await clientOf(setting).ask(question)
        expect(pieces.length).toBeGreaterThan(3)
        expect(pieces.join('')).toBe(text)
      },
    },
    {
      name: 'sends an image',
      async run(setting) {
        const messages: Message[] = [{ role: 'user', text: 'What is this?', image: pixel }]
        const { text } = await clientOf(setting).ask({ messages, stream: false })
        expect(text).toContain(`the image (image/png, ${pixelBytes} bytes)`)
      },
    },
    {
      name: 'may request a renamed model',
      async run(setting) {
        await clientOf(setting).ask({ model: 'renamed', messages: say('hello'), stream: false })
        expect(setting.fake.requests.at(-1)?.model).toBe('upstream-name')
      },
    },
    ...[false, true].flatMap((stream) =>
      failures.map(({ name, text, status }) => ({
        name: `throws an upstream failure (${name})${stream ? ' of a stream' : ''}`,
        async run(setting: SdkFixture) {
          const client = clientOf(setting)
          const error = await rejection(client.ask({ messages: say(overloadedAt(setting.upstream, text)), stream }))
          expect(client.statusOf(error), error.message).toBe(client.statuses?.[status] ?? status)
        },
      })),
    ),
    {
      name: 'throws after an error event, and after the end of a cut stream',
      async run(setting) {
        for (const fault of ['[[error-event after:8]]', '[[reset after:8]]']) {
          const messages = say(`[[words:50]] ${fault}`)
          expect(await rejection(clientOf(setting).ask({ messages, stream: true }))).toBeInstanceOf(Error)
        }
      },
    },
    {
      name: 'throws a 401, a 404 and a 400 with their messages',
      async run(setting) {
        const before = setting.fake.requests.length
        const client = clientOf(setting)
        const stranger = clientOf(setting, 'nobody-knows-this-token')
        const unauthorized = await rejection(stranger.ask({ messages: say('hello'), stream: false }))
        expect(client.statusOf(unauthorized)).toBe(client.statuses?.[401] ?? 401)
        expect(unauthorized.message).toContain('API key')
        const unknown = await rejection(client.ask({ model: 'no-such-model', messages: say('hello'), stream: false }))
        expect(client.statusOf(unknown)).toBe(404)
        expect(unknown.message).toContain('no-such-model')
        const wrong = await rejection(client.ask({ messages: [], stream: false }))
        expect(client.statusOf(wrong)).toBe(400)
        expect(wrong.message).toContain('messages')
        expect(setting.fake.requests).toHaveLength(before)
      },
    },
    {
      name: 'aborts the upstream call by an abort in mid-stream',
      async run(setting) {
        const { fake } = setting
        const before = fake.stats.aborted
        const { signal, abort } = aborter()
        const question = { messages: say('[[words:5000]] [[slow:5]]'), stream: true, signal, onText: abort }
        await rejection(clientOf(setting).ask(question))
        await until(() => fake.stats.aborted === before + 1, 'the upstream to be aborted')
      },
    },
    {
      name: 'aborts the upstream call by an abort before the headers',
      async run(setting) {
        const { fake } = setting
        const { aborted, started } = fake.stats
        const { signal, abort } = aborter()
        const failed = rejection(clientOf(setting).ask({ messages: say('[[stall]]'), stream: false, signal }))
        await until(() => fake.stats.started === started + 1, 'the call to reach the upstream')
        abort()
        await failed
        await until(() => fake.stats.aborted === aborted + 1, 'the upstream to be aborted')
      },
    },
    ...(!has.includes('models')
      ? []
      : [
          {
            name: 'reads the model list',
            run: async (setting: SdkFixture) => expect(await clientOf(setting).models?.()).toEqual(modelNames),
          },
        ]),
    ...(!has.includes('embed')
      ? []
      : [
          {
            name: 'receives embeddings, or an error that names the reason',
            async run(setting: SdkFixture) {
              const client = clientOf(setting)
              const call = client.embed?.(['one', 'two']) ?? Promise.reject(new Error('no embeddings'))
              if (setting.upstream === 'messages') {
                const error = await rejection(call)
                expect([client.statusOf(error), error.message]).toEqual([400, expect.stringContaining('embeddings')])
              } else {
                const vectors = await call
                expect(vectors.map((vector) => typeof vector[0])).toEqual(['number', 'number'])
                expect(vectors[0]).not.toEqual(vectors[1])
              }
            },
          },
        ]),
  ]
}

function aborter(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
