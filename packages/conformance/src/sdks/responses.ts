import { until } from '@modelgate/testing/test-support'
import OpenAI from 'openai'
import { expect } from 'vitest'
import { objectOf, parseJson } from '../base/json.ts'
import { abortCases, casesIn, failureCases } from './cases.ts'
import { type Case, callResults, citySchema, onTwoServers, rejection, type SdkFixture, twoCalls } from './context.ts'
import { openaiFailures } from './openai.ts'

type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming
type Response = OpenAI.Responses.Response
type Item = OpenAI.Responses.ResponseInputItem

const tool = (name: string): OpenAI.Responses.FunctionTool => ({
  type: 'function',
  name,
  description: `Knows ${name}`,
  parameters: citySchema,
  strict: true,
})
const tools = [tool('get_weather'), tool('get_time')]
const say = (text: string): Item[] => [{ role: 'user', content: text }]
const base = { model: 'demo', store: false } as const

const modes = {
  whole: ({ openai }: SdkFixture, body: Body): Promise<Response> => openai.responses.create(body),
  streamed: ({ openai }: SdkFixture, body: Body): Promise<Response> =>
    openai.responses.stream({ ...body, stream: true }).finalResponse(),
}
const inBothModes = casesIn(modes)

const callsIn = (response: Response): OpenAI.Responses.ResponseFunctionToolCall[] =>
  response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))

/**
 * Returns the second turn of a tool loop: the SDK's items and the results. `parsed_arguments` is not part of the API.
 */
const withResults = (first: Item[], response: Response): Item[] => [
  ...first,
  ...response.output.map((item) => {
    const { parsed_arguments: _, ...own } = objectOf(item)
    return own as unknown as Item
  }),
  ...callsIn(response).map(
    ({ call_id, name }): Item => ({
      type: 'function_call_output',
      call_id,
      output: callResults[name] ?? 'unknown tool',
    }),
  ),
]

/** Cases of the OpenAI SDK on Responses, for every server and upstream. */
export const responsesCases: readonly Case[] = [
  ...inBothModes('receives text', async (setting, ask) => {
    const response = await ask(setting, { ...base, input: '[[say:Hello — wörld 🙂]]' })
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: setting.responseModel,
      error: null,
    })
    expect(response.output_text).toBe('Hello — wörld 🙂')
    expect(response.output.map(({ type }) => type)).toEqual(['message'])
    const { input_tokens = 0, output_tokens = 0, total_tokens } = response.usage ?? {}
    expect(input_tokens).toBeGreaterThan(0)
    expect(output_tokens).toBeGreaterThan(0)
    expect(total_tokens).toBe(input_tokens + output_tokens)
  }),
  {
    name: 'receives a raw stream with every event numbered and in order',
    async run({ openai }) {
      const stream = await openai.responses.create({ ...base, input: '[[say:one two three]]', stream: true })
      const types: string[] = []
      const numbers: number[] = []
      let text = ''
      for await (const event of stream) {
        if (types.at(-1) !== event.type) types.push(event.type)
        numbers.push(event.sequence_number)
        if (event.type === 'response.output_text.delta') text += event.delta
      }
      expect(text).toBe('one two three')
      expect(numbers).toEqual(numbers.map((_, index) => index))
      expect(types).toEqual([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ])
    },
  },
  {
    name: 'sends instructions and a developer message',
    async run({ openai, fake }) {
      await openai.responses.create({ ...base, instructions: 'Be brief.', input: 'hello' })
      expect(fake.requests.at(-1)?.bodyText).toContain('Be brief.')
      const input: Item[] = [{ role: 'developer', content: 'Be kind.' }, ...say('hello')]
      await openai.responses.create({ ...base, input })
      expect(fake.requests.at(-1)?.bodyText).toContain('Be kind.')
    },
  },
  {
    name: 'may request a renamed model',
    async run({ openai, fake }) {
      const response = await openai.responses.create({ ...base, model: 'renamed', input: 'hello' })
      expect(fake.requests.at(-1)?.model).toBe('upstream-name')
      expect(response.output_text).toContain('upstream-name')
    },
  },
  ...inBothModes('completes a parallel tool round trip', async (setting, ask) => {
    const first = say(twoCalls)
    const response = await ask(setting, { ...base, input: first, tools })
    expect(response.status).toBe('completed')
    expect(callsIn(response).map((call) => [call.name, parseJson(call.arguments)])).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_time', { city: 'Oslo' }],
    ])
    const { output_text } = await ask(setting, { ...base, input: withResults(first, response), tools })
    expect(output_text).toContain('get_weather answered: 18 degrees')
    expect(output_text).toContain('get_time answered: half past nine')
  }),
  {
    name: 'receives streamed arguments of parallel calls',
    async run({ openai }) {
      const stream = openai.responses.stream({ ...base, input: say(twoCalls), tools })
      const snapshots = new Map<number, string>()
      stream.on('response.function_call_arguments.delta', ({ output_index, snapshot }) =>
        snapshots.set(output_index, snapshot),
      )
      await stream.done()
      expect([...snapshots.values()].map(parseJson)).toEqual([{ city: 'Paris' }, { city: 'Oslo' }])
    },
  },
  ...onTwoServers(
    inBothModes('completes a custom tool round trip', async (setting, ask) => {
      const custom: OpenAI.Responses.CustomTool = { type: 'custom', name: 'patch', description: 'Applies a patch' }
      const input = say('Please patch: *** Begin "it" {')
      const response = await ask(setting, { ...base, input, tools: [custom] })
      const [call] = response.output.flatMap((item) => (item.type === 'custom_tool_call' ? [item] : []))
      expect(call?.name).toBe('patch')
      expect(call?.input).not.toBe('')
      const history: Item[] = [
        ...input,
        ...response.output.map((item) => item as unknown as Item),
        { type: 'custom_tool_call_output', call_id: call?.call_id ?? '', output: 'Done.' },
      ]
      const { output_text } = await ask(setting, { ...base, input: history, tools: [custom] })
      expect(output_text).toContain('patch answered: Done.')
    }),
  ),

  ...onTwoServers(
    inBothModes('receives a call of a tool of a namespace by its bare name', async (setting, ask) => {
      const namespace = {
        type: 'namespace',
        name: 'mcp__demo',
        description: 'Tools of a server',
        tools: [{ ...tool('get_weather'), strict: false }],
      } as unknown as OpenAI.Responses.Tool
      const response = await ask(setting, { ...base, input: '[[tools:1]] in Rome?', tools: [namespace] })
      expect(callsIn(response)).toMatchObject([{ name: 'get_weather', namespace: 'mcp__demo' }])
      expect(parseJson(callsIn(response)[0]?.arguments ?? '')).toEqual({ city: 'Rome' })
    }),
  ),

  {
    name: 'sends the tool choices',
    rare: true,
    async run({ openai }) {
      const calls = async (tool_choice: Body['tool_choice']): Promise<string[]> => {
        const choice = tool_choice === undefined ? {} : { tool_choice }
        return callsIn(await openai.responses.create({ ...base, input: 'in Paris?', tools, ...choice })).map(
          ({ name }) => name,
        )
      }
      expect(await calls(undefined)).toEqual([])
      expect(await calls('none')).toEqual([])
      expect(await calls('required')).toEqual(['get_weather'])
      expect(await calls({ type: 'function', name: 'get_time' })).toEqual(['get_time'])
    },
  },
  {
    name: 'receives a call of a tool without arguments',
    rare: true,
    async run({ openai }) {
      const ping = { ...tool('ping'), parameters: { type: 'object', properties: {} }, strict: false }
      const response = await openai.responses.stream({ ...base, input: '[[tool:ping]]', tools: [ping] }).finalResponse()
      expect(parseJson(callsIn(response)[0]?.arguments ?? '')).toEqual({})
    },
  },
  {
    name: 'parses structured output with the helpers',
    async run({ openai }) {
      const format = { type: 'json_schema' as const, name: 'place', schema: citySchema, strict: true }
      const ask = { ...base, input: 'Where is the tower of Pisa?', text: { format } }
      // The helpers parse if a schema library described the format, or if tools are strict.
      const strict = { ...ask, tools }
      for (const response of [
        await openai.responses.parse(strict),
        await openai.responses.stream(strict).finalResponse(),
      ])
        expect(response.output_parsed).toEqual({ city: expect.any(String) })
      expect(parseJson((await openai.responses.create(ask)).output_text)).toEqual({ city: expect.any(String) })
    },
  },
  ...inBothModes('refers to an earlier response by its id', async (setting, ask) => {
    const first = await ask(setting, { model: 'demo', input: say(twoCalls), tools })
    const input = callsIn(first).map(
      ({ call_id, name }): Item => ({ type: 'function_call_output', call_id, output: callResults[name] ?? '' }),
    )
    const second = await ask(setting, { model: 'demo', previous_response_id: first.id, input, tools })
    expect(second.output_text).toContain('get_weather answered: 18 degrees')
    expect(second.previous_response_id).toBe(first.id)
    const lost = await rejection(ask(setting, { model: 'demo', previous_response_id: 'resp_unknown', input: 'hello' }))
    expect(lost).toMatchObject({ status: 400, code: 'previous_response_not_found' })
  }),
  {
    name: 'receives a token count',
    rare: true,
    async run({ openai }) {
      const { input_tokens } = await openai.responses.inputTokens.count({ model: 'demo', input: 'one two three' })
      expect(input_tokens).toBeGreaterThan(2)
    },
  },
  {
    name: 'throws a 401 as AuthenticationError without an upstream call',
    async run({ unknownTokenClients, fake }) {
      const before = fake.requests.length
      const error = await rejection(unknownTokenClients.openai.responses.create({ ...base, input: 'hello' }))
      expect(error).toBeInstanceOf(OpenAI.AuthenticationError)
      expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' })
      expect(fake.requests).toHaveLength(before)
    },
  },
  {
    name: 'throws a 404 for a model, and a 400 that names the field',
    async run({ openai }) {
      const unknown = await rejection(openai.responses.create({ ...base, model: 'no-such-model', input: 'hello' }))
      expect(unknown).toMatchObject({ status: 404, code: 'model_not_found' })
      expect(unknown.requestID).toMatch(/^req_/)
      const wrong = await rejection(openai.responses.create({ ...base, input: 'hello', temperature: 2.5 }))
      expect(wrong).toBeInstanceOf(OpenAI.BadRequestError)
      expect(wrong).toMatchObject({ status: 400, param: 'temperature', type: 'invalid_request_error' })
    },
  },
  ...failureCases(openaiFailures, ({ openai }, text, stream) =>
    openai.responses.create({ ...base, input: text, stream }),
  ),
  {
    name: 'throws from the plain iterator after the received text for an error in mid-stream',
    async run({ openai }) {
      let text = ''
      const input = '[[words:50]] [[error-event after:12]]'
      const error = await rejection(
        (async () => {
          for await (const event of await openai.responses.create({ ...base, input, stream: true }))
            if (event.type === 'response.output_text.delta') text += event.delta
        })(),
      )
      expect(error).toBeInstanceOf(OpenAI.APIError)
      expect(error.message).toMatch(/overloaded|server had an error/i)
      expect(text).toMatch(/^the quick/)
    },
  },
  ...abortCases(
    async ({ openai }, text) => {
      const stream = await openai.responses.create({ ...base, input: text, stream: true })
      for await (const event of stream) if (event.type === 'response.output_text.delta') break
    },
    ({ openai }, text, signal) => openai.responses.create({ ...base, input: text }, { signal }),
    (error) => expect(error).toBeInstanceOf(OpenAI.APIUserAbortError),
  ),
  {
    name: 'is recorded as finished if it disconnects right after response.completed',
    async run({ openai, fake, finished }) {
      const { aborted } = fake.stats
      const stream = await openai.responses.create({ ...base, input: '[[say:done]]', stream: true })
      for await (const event of stream) if (event.type === 'response.completed') break
      await until(() => finished.at(-1)?.outcome === 'finished', 'the call to be settled')
      expect(fake.stats.aborted).toBe(aborted)
    },
  },
]
