import { describe, expect, it } from 'vitest'
import { asStream, setUp } from '../../gateway/create-gateway.test-support.ts'
import { gemini } from '../../upstreams/gemini.ts'
import { openai } from '../../upstreams/openai.ts'

const long = 'm'.repeat(100_000)
const deltas = 400

const geminiEvents = (frame: object): string[] =>
  Array.from({ length: deltas }, (_, at) => ({
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [{ text: 'word ' }] },
        ...(at === deltas - 1 ? { finishReason: 'STOP' } : {}),
      },
    ],
    ...(at === 0 ? frame : {}),
  })).map((event) => `data: ${JSON.stringify(event)}\n\n`)
const chatEvents = (frame: object): string[] => [
  ...Array.from({ length: deltas }, (_, at) => ({
    choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: at === deltas - 1 ? 'stop' : null }],
    ...(at === 0 ? frame : {}),
  })).map((event) => `data: ${JSON.stringify(event)}\n\n`),
  'data: [DONE]\n\n',
]

const gatewayTo = (events: readonly string[]) =>
  setUp({ g: asStream([...events]), c: asStream([...events]) }, {
    upstreams: {
      g: gemini({ apiKey: 'sk-canary-gggggggg', baseURL: 'http://g' }),
      c: openai({ apiKey: 'sk-canary-cccccccc', baseURL: 'http://c/v1', formats: ['chat'] }),
    },
    models: { g: 'g', c: 'c' },
  } as never)

const chat = ['/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }], stream: true }] as const
const completions = ['/v1/completions', { prompt: 'x', stream: true }] as const

describe('the frame of a translated stream', () => {
  it.each([
    ['the model', 'g', chat, geminiEvents({ modelVersion: long })],
    ['the id', 'g', chat, geminiEvents({ responseId: long })],
    [
      'the id and the model',
      'c',
      ['/v1beta/models/c:streamGenerateContent?alt=sse', { contents: [{ parts: [{ text: 'x' }] }] }],
      chatEvents({ id: long, model: long }),
    ],
    ['the id', 'g', completions, geminiEvents({ responseId: long })],
  ] as const)(
    'does not repeat %s of an upstream in each event if it is long, to a client of model %s',
    async (_, model, [path, body], events) => {
      const set = gatewayTo(events)
      const reply = await set.post(path, { model, ...body } as never)
      const text = await reply.text()
      expect(reply.status).toBe(200)
      expect(text.match(/word /g)).toHaveLength(deltas)
      // Without the bound it is 400 times the 100,000 characters.
      expect(text.length).toBeLessThan(2 * long.length + 400 * deltas)
      expect(JSON.stringify(set.finished[0]?.losses)).toContain('it is longer than 1024 characters')
    },
  )
})
