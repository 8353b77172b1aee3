import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'vitest'
import { listOf, objectOf } from '../base/json.ts'
import { abortCases, casesIn, expectRetryAfter, type Failure, failureCases } from './cases.ts'
import {
  type Case,
  callResults,
  citySchema,
  modelNames,
  pixel,
  pixelBytes,
  rejection,
  type SdkFixture,
  twoCalls,
} from './context.ts'

type Body = Omit<Anthropic.MessageCreateParamsNonStreaming, 'stream'>
const say = (text: string): Anthropic.MessageParam[] => [{ role: 'user', content: text }]
const tool = (name: string): Anthropic.Tool => ({
  name,
  description: `Knows ${name}`,
  input_schema: { ...citySchema, required: ['city'] },
})
const tools = [tool('get_weather'), tool('get_time')]
const base = { model: 'demo', max_tokens: 1024 }

const modes = {
  whole: ({ anthropic }: SdkFixture, body: Body): Promise<Anthropic.Message> => anthropic.messages.create(body),
  streamed: ({ anthropic }: SdkFixture, body: Body): Promise<Anthropic.Message> =>
    anthropic.messages.stream(body).finalMessage(),
}
const inBothModes = casesIn(modes)

const textIn = (message: Anthropic.Message): string =>
  message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')

/** Returns the second turn of a tool loop: the SDK's content and the results. */
const withResults = (first: Anthropic.MessageParam[], message: Anthropic.Message): Anthropic.MessageParam[] => [
  ...first,
  { role: 'assistant', content: message.content },
  {
    role: 'user',
    content: message.content
      .filter((block) => block.type === 'tool_use')
      .map((call) => ({
        type: 'tool_result' as const,
        tool_use_id: call.id,
        content: callResults[call.name] ?? 'unknown tool',
      })),
  },
]

const failures: readonly (Failure & { readonly kind: string })[] = [
  {
    name: '429',
    text: '[[status:429 retry-after:7]]',
    type: Anthropic.RateLimitError,
    status: 429,
    kind: 'rate_limit_error',
  },
  { name: '500', text: '[[status:500]]', type: Anthropic.InternalServerError, status: 502, kind: 'api_error' },
  {
    name: 'overloaded',
    text: '[[status:529]]',
    type: Anthropic.InternalServerError,
    status: 529,
    kind: 'overloaded_error',
  },
]

const kindOf = (error: { [key: string]: unknown }): unknown => objectOf(objectOf(error.error).error).type

/** Cases of the Anthropic SDK, for every server and upstream. */
export const anthropicCases: readonly Case[] = [
  ...inBothModes('receives text', async (setting, ask) => {
    const message = await ask(setting, { ...base, messages: say('[[say:Hello — wörld 🙂]]') })
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: setting.responseModel,
      stop_reason: 'end_turn',
    })
    expect(message.content).toMatchObject([{ type: 'text', text: 'Hello — wörld 🙂' }])
    expect(message.usage.input_tokens).toBeGreaterThan(0)
    expect(message.usage.output_tokens).toBeGreaterThan(0)
  }),
  {
    name: 'receives a raw stream',
    async run({ anthropic }) {
      const stream = await anthropic.messages.create({ ...base, messages: say('[[say:one two three]]'), stream: true })
      let text = ''
      const types: string[] = []
      for await (const event of stream) {
        if (types.at(-1) !== event.type) types.push(event.type)
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
      }
      expect(text).toBe('one two three')
      expect(types).toEqual([
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ])
    },
  },
  {
    name: 'sends the system prompt as text and as blocks',
    async run({ anthropic, fake }) {
      for (const system of ['Be brief.', [{ type: 'text' as const, text: 'Be brief.' }]]) {
        await anthropic.messages.create({ ...base, system, messages: say('hello') })
        expect(fake.requests.at(-1)?.bodyText).toContain('Be brief.')
      }
    },
  },
  ...inBothModes('completes a parallel tool round trip', async (setting, ask) => {
    const first = say(twoCalls)
    const message = await ask(setting, { ...base, messages: first, tools })
    expect(message.stop_reason).toBe('tool_use')
    const calls = message.content.filter((block) => block.type === 'tool_use')
    expect(calls.map(({ name, input }) => [name, input])).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_time', { city: 'Oslo' }],
    ])
    const second = await ask(setting, { ...base, messages: withResults(first, message), tools })
    expect(textIn(second)).toContain('get_weather answered: 18 degrees')
    expect(textIn(second)).toContain('get_time answered: half past nine')
  }),
  {
    name: 'receives a call of a tool without arguments',
    async run({ anthropic }) {
      const message = await anthropic.messages
        .stream({
          ...base,
          messages: say('[[tool:ping]]'),
          tools: [{ name: 'ping', input_schema: { type: 'object' } }],
        })
        .finalMessage()
      expect(message.content).toMatchObject([{ type: 'tool_use', name: 'ping', input: {} }])
    },
  },
  {
    name: 'sends an image, and one in a tool result',
    async run({ anthropic }) {
      const image = {
        type: 'image' as const,
        source: { type: 'base64' as const, media_type: 'image/png' as const, data: pixel },
      }
      const message = await anthropic.messages.create({
        ...base,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }],
      })
      expect(textIn(message)).toContain(`the image (image/png, ${pixelBytes} bytes)`)
    },
  },
  ...inBothModes('receives structured output', async (setting, ask) => {
    const message = await ask(setting, {
      ...base,
      messages: say('Where is the tower of Pisa?'),
      output_config: { format: { type: 'json_schema', schema: { ...citySchema } } },
    })
    expect(JSON.parse(textIn(message))).toEqual({ city: expect.any(String) })
  }),
  ...inBothModes('sends thinking back in a tool loop', async (setting, ask) => {
    const first = say('[[tool:get_weather {"city":"Paris"}]] think hard')
    const body = {
      model: 'demo',
      max_tokens: 8192,
      tools,
      thinking: { type: 'enabled' as const, budget_tokens: 4096 },
    }
    const message = await ask(setting, { ...body, messages: first })
    // The client gets the seal of thinking even if the upstream hides the thinking.
    const [thought] = message.content
    if (setting.upstream === 'responses') expect(thought).toMatchObject({ type: 'redacted_thinking' })
    else expect(thought).toMatchObject({ type: 'thinking', thinking: expect.stringContaining('think hard') })
    const second = await ask(setting, { ...body, messages: withResults(first, message) })
    expect(textIn(second)).toContain('18 degrees')
    if (setting.upstream !== 'messages') return
    const turns = listOf(objectOf(setting.fake.requests.at(-1)?.body).messages).map(objectOf)
    expect(listOf(turns[1]?.content)[0]).toEqual(thought)
  }),
  {
    name: 'sends an explicitly or automatically cached prompt',
    async run({ anthropic }) {
      const ask = async (): Promise<Anthropic.Usage> =>
        (
          await anthropic.messages.create({
            ...base,
            system: [{ type: 'text', text: 'word '.repeat(100), cache_control: { type: 'ephemeral' } }],
            messages: say('hello'),
          })
        ).usage
      expect((await ask()).cache_read_input_tokens ?? 0).toBe(0)
      const { cache_read_input_tokens: read, input_tokens: fresh } = await ask()
      expect(read).toBeGreaterThanOrEqual(100)
      expect(fresh).toBeLessThan(20)
    },
  },
  {
    name: 'throws a 401 as AuthenticationError without an upstream call',
    async run({ unknownTokenClients, fake }) {
      const before = fake.requests.length
      const error = await rejection(unknownTokenClients.anthropic.messages.create({ ...base, messages: say('hello') }))
      expect(error).toBeInstanceOf(Anthropic.AuthenticationError)
      expect([error.status, kindOf(error)]).toEqual([401, 'authentication_error'])
      expect(fake.requests).toHaveLength(before)
    },
  },
  {
    name: 'throws a 404 as NotFoundError',
    async run({ anthropic }) {
      const error = await rejection(
        anthropic.messages.create({ ...base, model: 'no-such-model', messages: say('hello') }),
      )
      expect(error).toBeInstanceOf(Anthropic.NotFoundError)
      expect([error.status, kindOf(error)]).toEqual([404, 'not_found_error'])
      expect(error.requestID).toMatch(/^req_/)
    },
  },
  {
    name: 'throws a 400 as BadRequestError that names the field',
    async run({ anthropic }) {
      const error = await rejection(anthropic.messages.create({ ...base, max_tokens: 0, messages: say('hello') }))
      expect(error).toBeInstanceOf(Anthropic.BadRequestError)
      expect([error.status, kindOf(error)]).toEqual([400, 'invalid_request_error'])
      expect(error.message).toContain('max_tokens: Input should be greater than or equal to 1')
    },
  },
  ...failureCases(
    failures,
    ({ anthropic }, text, stream) => anthropic.messages.create({ ...base, messages: say(text), stream }),
    (error, failure) => {
      expectRetryAfter(error, failure)
      expect(kindOf(error)).toBe(failure.kind)
    },
  ),
  ...abortCases(
    async ({ anthropic }, text) => {
      const stream = anthropic.messages.stream({ ...base, messages: say(text) })
      for await (const event of stream) if (event.type === 'content_block_delta') break
    },
    ({ anthropic }, text, signal) => anthropic.messages.create({ ...base, messages: say(text) }, { signal }),
    (error) => expect(error).toBeInstanceOf(Anthropic.APIUserAbortError),
  ),
  {
    name: 'reads the model list and one model',
    async run({ anthropic }) {
      const ids: string[] = []
      for await (const model of anthropic.models.list()) ids.push(model.id)
      expect(ids).toEqual(modelNames)
      expect(await anthropic.models.retrieve('org/model-2')).toMatchObject({
        id: 'org/model-2',
        type: 'model',
        display_name: expect.any(String),
        created_at: expect.any(String),
      })
      expect(await rejection(anthropic.models.retrieve('absent'))).toBeInstanceOf(Anthropic.NotFoundError)
    },
  },
]
