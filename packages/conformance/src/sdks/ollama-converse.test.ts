import { bedrock, createGateway, type FinishEvent } from '@modelgate/core'
import { eventFrame, type JsonObject, streamedEvents, wholeAnswer } from '@modelgate/core/test-support'
import type { ChatResponse, Message } from 'ollama'
import { describe, expect, test } from 'vitest'
import { readOllama } from '../base/content/ollama.ts'
import { fetchOf } from '../base/gateways.ts'
import { listOf, objectOf, parseJson } from '../base/json.ts'
import { ollamaClient } from '../base/ollama-client.ts'
import { citySchema, pixel } from './context.ts'
import { ollamaTool } from './ollama-conversation.ts'

/** Ollama's official client with models of Bedrock, which respond in the format Converse: JSON, or AWS's binary frames. */
function setUp(model: string, failure?: { readonly status: number; readonly body: JsonObject }) {
  const sent: JsonObject[] = []
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: () => ({ id: 'client' }),
    upstreams: { aws: bedrock({ region: 'us-east-1', apiKey: 'any', formats: ['converse'] }) },
    models: { demo: { upstream: 'aws', model } },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    retry: false,
    async fetch(input, init) {
      const request = new Request(input, init)
      sent.push(objectOf(parseJson(await request.text())))
      if (failure !== undefined) return Response.json(failure.body, { status: failure.status })
      if (!request.url.endsWith('/converse-stream')) return Response.json(wholeAnswer)
      const frames = Buffer.concat(streamedEvents.map(([type, event]) => eventFrame(type, event)))
      return new Response(frames, { headers: { 'content-type': 'application/vnd.amazon.eventstream' } })
    },
  })
  return { ollama: ollamaClient({ token: 'any', fetch: fetchOf(gateway) }), sent, finished }
}

type Setting = ReturnType<typeof setUp>

const modes = {
  whole: async ({ ollama }: Setting, messages: Message[]): Promise<ChatResponse[]> => [
    await ollama.chat({ model: 'demo', messages, tools: [ollamaTool('weather')], think: true }),
  ],
  async streamed({ ollama }: Setting, messages: Message[]): Promise<ChatResponse[]> {
    const chunks: ChatResponse[] = []
    const request = { model: 'demo', messages, tools: [ollamaTool('weather')], think: true }
    for await (const chunk of await ollama.chat({ ...request, stream: true })) chunks.push(chunk)
    return chunks
  },
}

const ask: Message[] = [{ role: 'user', content: 'How is the weather in Oslo?' }]

describe.each(['us.amazon.nova-2-lite-v1:0', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'])(
  'the Ollama client with %s over Converse',
  (model) => {
    test.each(Object.entries(modes))('receives everything that its format expresses, %s', async (_mode, receive) => {
      const setting = setUp(model)
      const chunks = await receive(setting, ask)
      expect(readOllama(chunks)).toEqual({
        text: 'I look it up: Grüße 🙂Oslo is rainy.',
        refusal: '',
        reasoning: 'Let me see.',
        tools: [
          { name: 'weather', input: { city: 'Oslo' } },
          { name: 'time', input: {} },
        ],
        // Ollama's counts of input tokens include those of caches.
        usage: { input: 433 + 2752 + 10, output: 16 },
      })
      expect(chunks.flatMap(({ message }) => listOf(message.images))).toEqual(['AAECAwQF'])
      expect(chunks.at(-1)).toMatchObject({ done: true, done_reason: 'stop' })
      const [{ outcome, upstreamFormat, losses } = {}] = setting.finished
      expect([outcome, upstreamFormat]).toEqual(['finished', 'converse'])
      const reported = losses?.map(({ detail }) => detail).join('\n')
      for (const lost of ['signature', 'withheld reasoning', 'citations', "the block 'toolUse'", 'service tiers'])
        expect(reported).toContain(lost)
    })

    test.each(Object.entries(modes))('completes a tool loop, %s', async (_mode, receive) => {
      const setting = setUp(model)
      const first = await receive(setting, ask)
      const calls = first.flatMap(({ message }) => message.tool_calls ?? [])
      const results = calls.map(
        (call): Message => ({
          role: 'tool',
          tool_name: call.function.name,
          content: `result of ${call.function.name}`,
        }),
      )
      await receive(setting, [...ask, { role: 'assistant', content: '', tool_calls: calls }, ...results])
      const [question, call, answer] = listOf(setting.sent.at(-1)?.messages).map(objectOf)
      expect(question).toMatchObject({ role: 'user', content: [{ text: ask[0]?.content }] })
      expect(call).toMatchObject({
        role: 'assistant',
        content: [{ toolUse: { toolUseId: 'tooluse_1' } }, { toolUse: { toolUseId: 'tooluse_2' } }],
      })
      expect(answer).toMatchObject({
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'tooluse_1', content: [{ text: 'result of weather' }] } },
          { toolResult: { toolUseId: 'tooluse_2', content: [{ text: 'result of time' }] } },
        ],
      })
    })

    test('sends an image, options and a schema', async () => {
      const { ollama, sent, finished } = setUp(model)
      await ollama.chat({
        model: 'demo',
        messages: [{ role: 'user', content: 'What is this?', images: [pixel] }],
        options: { num_predict: 99, stop: ['end'] },
        format: citySchema,
      })
      expect(sent[0]).toMatchObject({
        messages: [{ content: [{ image: { format: 'png', source: { bytes: pixel } } }, { text: 'What is this?' }] }],
        inferenceConfig: { maxTokens: 99, stopSequences: ['end'] },
      })
      // Amazon's models accept no schema.
      const isReported = finished[0]?.losses.some(({ path }) => path === '/format') === true
      expect(JSON.stringify(sent[0]).includes('city')).toBe(!isReported)
      expect(isReported).toBe(model.includes('amazon'))
    })

    test('throws an error of the upstream with its status and message', async () => {
      const failure = { status: 429, body: { message: 'Too many tokens, please wait.' } }
      for (const stream of [true, false] as const) {
        const { ollama } = setUp(model, failure)
        const call = stream
          ? ollama.chat({ model: 'demo', messages: ask, stream })
          : ollama.chat({ model: 'demo', messages: ask, stream })
        await expect(call).rejects.toMatchObject({
          status_code: 429,
          error: expect.stringContaining('Too many tokens'),
        })
      }
    })
  },
)
