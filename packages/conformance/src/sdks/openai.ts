import OpenAI from 'openai'
import { expect } from 'vitest'
import { objectOf, textOf } from '../base/json.ts'
import { abortCases, casesIn, type Failure, failureCases } from './cases.ts'
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

type Message = OpenAI.ChatCompletionMessageParam

const say = (text: string): Message[] => [{ role: 'user', content: text }]
const tool = (name: string): OpenAI.ChatCompletionTool => ({
  type: 'function',
  function: { name, description: `Knows ${name}`, parameters: citySchema },
})
const tools = [tool('get_weather'), tool('get_time')]

/** Streamed by the helper or unstreamed; the rest of a case is the same. */
const modes = {
  whole: ({ openai }: SdkFixture, body: OpenAI.ChatCompletionCreateParamsNonStreaming) =>
    openai.chat.completions.create(body),
  streamed: ({ openai }: SdkFixture, body: OpenAI.ChatCompletionCreateParamsNonStreaming) =>
    openai.chat.completions
      .stream({ ...body, stream: true, stream_options: { include_usage: true } })
      .finalChatCompletion(),
}
const inBothModes = casesIn(modes)

/** Returns the second turn of a tool loop: the SDK's message and the results. */
const withResults = (first: Message[], message: OpenAI.ChatCompletionMessage): Message[] => [
  ...first,
  message,
  ...(message.tool_calls ?? []).map(
    (call): Message => ({
      role: 'tool',
      tool_call_id: call.id,
      content: callResults[call.type === 'function' ? call.function.name : ''] ?? 'unknown tool',
    }),
  ),
]

export const openaiFailures: readonly Failure[] = [
  { name: '429', text: '[[status:429 retry-after:7]]', type: OpenAI.RateLimitError, status: 429 },
  { name: '500', text: '[[status:500]]', type: OpenAI.InternalServerError, status: 502 },
  { name: 'overloaded', text: '[[status:529]]', type: OpenAI.InternalServerError, status: 503 },
]

/** Cases of the OpenAI SDK, for every server and upstream. */
export const openaiCases: readonly Case[] = [
  ...inBothModes('receives text', async (setting, ask) => {
    const completion = await ask(setting, { model: 'demo', messages: say('[[say:Hello — wörld 🙂]]') })
    expect(completion.choices[0]?.message).toMatchObject({ role: 'assistant', content: 'Hello — wörld 🙂' })
    expect(completion.choices[0]?.finish_reason).toBe('stop')
    expect(completion.model).toBe(setting.responseModel)
    const { prompt_tokens, completion_tokens, total_tokens } = completion.usage as OpenAI.CompletionUsage
    expect(prompt_tokens).toBeGreaterThan(0)
    expect(completion_tokens).toBeGreaterThan(0)
    expect(total_tokens).toBe(prompt_tokens + completion_tokens)
  }),
  {
    name: 'receives a raw stream without unrequested usage',
    async run({ openai }) {
      const stream = await openai.chat.completions.create({
        model: 'demo',
        messages: say('[[say:one two three]]'),
        stream: true,
      })
      let text = ''
      let finish: string | null = null
      for await (const chunk of stream) {
        expect(chunk.object).toBe('chat.completion.chunk')
        expect(chunk.usage ?? null).toBeNull()
        expect(chunk.choices.length).toBeGreaterThan(0)
        text += chunk.choices[0]?.delta.content ?? ''
        finish = chunk.choices[0]?.finish_reason ?? finish
      }
      expect([text, finish]).toEqual(['one two three', 'stop'])
    },
  },
  {
    name: 'may request a renamed model',
    async run({ openai, fake }) {
      await openai.chat.completions.create({ model: 'renamed', messages: say('hello') })
      expect(fake.requests.at(-1)?.model).toBe('upstream-name')
    },
  },
  ...inBothModes('completes a parallel tool round trip', async (setting, ask) => {
    const first = say(twoCalls)
    const { choices } = await ask(setting, { model: 'demo', messages: first, tools })
    const message = choices[0]?.message as OpenAI.ChatCompletionMessage
    expect(choices[0]?.finish_reason).toBe('tool_calls')
    expect(
      message.tool_calls?.map((call) =>
        call.type === 'function' ? [call.function.name, JSON.parse(call.function.arguments)] : call,
      ),
    ).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_time', { city: 'Oslo' }],
    ])
    const second = await ask(setting, { model: 'demo', messages: withResults(first, message), tools })
    expect(second.choices[0]?.message.content).toContain('get_weather answered: 18 degrees')
    expect(second.choices[0]?.message.content).toContain('get_time answered: half past nine')
  }),
  {
    name: 'receives a call of a tool without arguments',
    async run({ openai }) {
      const completion = await openai.chat.completions
        .stream({
          model: 'demo',
          messages: say('[[tool:ping]]'),
          tools: [{ type: 'function', function: { name: 'ping' } }],
        })
        .finalChatCompletion()
      const call = completion.choices[0]?.message.tool_calls?.[0]
      expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({})
    },
  },
  {
    name: 'sends an image',
    async run({ openai }) {
      const completion = await openai.chat.completions.create({
        model: 'demo',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
            ],
          },
        ],
      })
      expect(completion.choices[0]?.message.content).toContain(`the image (image/png, ${pixelBytes} bytes)`)
    },
  },
  ...inBothModes('receives structured output', async (setting, ask) => {
    const { choices } = await ask(setting, {
      model: 'demo',
      messages: say('Where is the tower of Pisa?'),
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema: citySchema, strict: true } },
    })
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ city: expect.any(String) })
  }),
  ...inBothModes('sends thinking back in a tool loop', async (setting, ask) => {
    const first = say('[[tool:get_weather {"city":"Paris"}]] think hard')
    const body = { model: 'demo', tools, reasoning_effort: 'high' as const, max_completion_tokens: 32_000 }
    const { choices, usage } = await ask(setting, { ...body, messages: first })
    const message = choices[0]?.message as OpenAI.ChatCompletionMessage
    expect(usage?.completion_tokens_details?.reasoning_tokens ?? 0).toBeGreaterThan(0)
    const second = await ask(setting, { ...body, messages: withResults(first, message) })
    expect(second.choices[0]?.message.content).toContain('18 degrees')
  }),
  {
    name: 'receives streamed thinking',
    async run({ openai, upstream }) {
      const stream = await openai.chat.completions.create({
        model: 'demo',
        messages: say('Is it raining?'),
        reasoning_effort: 'high',
        max_completion_tokens: 32_000,
        stream: true,
      })
      let reasoning = ''
      for await (const chunk of stream) reasoning += textOf(objectOf(chunk.choices[0]?.delta).reasoning_content)
      // A chat client cannot request it, and OpenAI's Responses returns no thoughts without a request.
      const thought = 'The user says “Is it raining?”. I will answer briefly.'
      expect(reasoning).toBe(upstream === 'responses' ? '' : thought)
    },
  },
  {
    name: 'receives several choices or a rejection, never silently one choice',
    async run({ openai, upstream }) {
      const call = openai.chat.completions.create({ model: 'demo', messages: say('hello'), n: 2 })
      if (upstream === 'chat' || upstream === 'gemini') expect((await call).choices).toHaveLength(2)
      else expect(await rejection(call)).toMatchObject({ status: 400, param: 'n' })
    },
  },
  {
    name: 'throws a 401 as AuthenticationError without an upstream call',
    async run({ unknownTokenClients, fake }) {
      const before = fake.requests.length
      const error = await rejection(
        unknownTokenClients.openai.chat.completions.create({ model: 'demo', messages: say('hello') }),
      )
      expect(error).toBeInstanceOf(OpenAI.AuthenticationError)
      expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' })
      expect(fake.requests).toHaveLength(before)
    },
  },
  {
    name: 'throws a 404 as NotFoundError',
    async run({ openai }) {
      const error = await rejection(openai.chat.completions.create({ model: 'no-such-model', messages: say('hello') }))
      expect(error).toBeInstanceOf(OpenAI.NotFoundError)
      expect(error).toMatchObject({ status: 404, code: 'model_not_found' })
      expect(error.requestID).toMatch(/^req_/)
    },
  },
  {
    name: 'throws a 400 as BadRequestError that names the field',
    async run({ openai }) {
      const error = await rejection(
        openai.chat.completions.create({ model: 'demo', messages: say('hello'), temperature: 2.5 }),
      )
      expect(error).toBeInstanceOf(OpenAI.BadRequestError)
      expect(error).toMatchObject({ status: 400, param: 'temperature', type: 'invalid_request_error' })
    },
  },
  ...failureCases(openaiFailures, ({ openai }, text, stream) =>
    openai.chat.completions.create({ model: 'demo', messages: say(text), stream }),
  ),
  ...abortCases(
    async ({ openai }, text) => {
      const stream = await openai.chat.completions.create({ model: 'demo', messages: say(text), stream: true })
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    },
    ({ openai }, text, signal) => openai.chat.completions.create({ model: 'demo', messages: say(text) }, { signal }),
    (error) => expect(error).toBeInstanceOf(OpenAI.APIUserAbortError),
  ),
  {
    name: 'reads the model list and one model',
    async run({ openai }) {
      const ids: string[] = []
      for await (const model of openai.models.list()) ids.push(model.id)
      expect(ids).toEqual(modelNames)
      expect(await openai.models.retrieve('org/model-2')).toMatchObject({ id: 'org/model-2', object: 'model' })
      expect(await rejection(openai.models.retrieve('absent'))).toBeInstanceOf(OpenAI.NotFoundError)
    },
  },
]
