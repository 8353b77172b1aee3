import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFakeProvider, type ListeningProvider, listen } from '../index.ts'

const provider = createFakeProvider({ apiKey: 'good-key', models: ['demo-responses'] })
let server: ListeningProvider
let client: OpenAI

beforeAll(async () => {
  server = await listen(provider)
  client = new OpenAI({ apiKey: 'good-key', baseURL: server.url, maxRetries: 0 })
})
afterAll(() => server.close())
beforeEach(() => provider.reset())

const ask = (input: OpenAI.Responses.ResponseCreateParams['input'] & {}) => ({ model: 'demo-responses', input })
const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
}
const reasoning = { effort: 'low', summary: 'auto' } as const
const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']

describe('official OpenAI client with Responses', () => {
  it('reads a text response', async () => {
    const answer = await client.responses.create(ask('Hello there'))
    expect(answer.output_text).toContain('You said: “Hello there”.')
    expect(answer).toMatchObject({ object: 'response', status: 'completed', error: null, incomplete_details: null })
    expect(answer.id).toMatch(/^resp_[0-9a-f]{50}$/)
    expect(answer.usage?.total_tokens).toBe((answer.usage?.input_tokens ?? 0) + (answer.usage?.output_tokens ?? 0))
  })

  it('streams the same content as the unstreamed response, with every event in order', async () => {
    const whole = await client.responses.create({ ...ask('[[think]] Hello there'), include })
    const stream = client.responses.stream({ ...ask('[[think]] Hello there'), include })
    const numbers: number[] = []
    for await (const event of stream) numbers.push(event.sequence_number)
    const final = await stream.finalResponse()
    expect(numbers).toEqual(numbers.map((_, index) => index))
    const shape = (response: OpenAI.Responses.Response) =>
      response.output.map((item) => [
        item.type,
        item.type === 'message' ? item.content[0]?.type : undefined,
        item.type === 'reasoning' ? item.summary[0]?.text : undefined,
      ])
    expect(shape(final)).toEqual(shape(whole))
    expect(final.output_text).toBe(whole.output_text)
    expect(final.usage).toEqual(whole.usage)
  })

  it('runs a reasoning tool loop without storage, with valid encrypted content', async () => {
    const stateless = { store: false, include, reasoning, tools: [weather] }
    const question = { role: 'user' as const, content: '[[tools:2]] the weather in Paris?' }
    const first = await client.responses.stream({ ...ask([question]), ...stateless }).finalResponse()
    expect(first.output.map((item) => item.type)).toEqual(['reasoning', 'function_call', 'function_call'])
    const results = first.output
      .filter((item) => item.type === 'function_call')
      .map((item) => ({ type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' }))
    // The SDK's helper adds `parsed_arguments`.
    const text = first.output.map((item) =>
      item.type === 'function_call' ? { ...item, parsed_arguments: undefined } : item,
    )
    const history = [question, ...text, ...results] as OpenAI.Responses.ResponseInput
    const second = await client.responses.create({ ...ask(history), ...stateless })
    expect(second.output_text).toBe('get_weather answered: sunny. get_weather answered: sunny.')
    const changed = history.map((item) =>
      'encrypted_content' in item ? { ...item, encrypted_content: 'gAAAAABother' } : item,
    ) as OpenAI.Responses.ResponseInput
    await expect(client.responses.create({ ...ask(changed), ...stateless })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_encrypted_content',
    })
    const bare = history.filter((item) => !('encrypted_content' in item))
    await expect(client.responses.create({ ...ask(bare), ...stateless })).rejects.toThrow(
      /of type 'function_call' was provided without its required 'reasoning' item/,
    )
    const cut = history.slice(0, 2)
    await expect(client.responses.create({ ...ask(cut), ...stateless })).rejects.toThrow(
      /of type 'reasoning' was provided without its required following item/,
    )
  })

  it('resolves references to stored responses only', async () => {
    const first = await client.responses.create({
      ...ask('[[think]] [[tools:1]] the weather in Paris?'),
      tools: [weather],
    })
    const call = first.output.find((item) => item.type === 'function_call')
    const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: 'sunny' }
    const next = await client.responses.create({ ...ask([output]), previous_response_id: first.id, tools: [weather] })
    expect(next.output_text).toBe('get_weather answered: sunny.')
    expect(next.previous_response_id).toBe(first.id)
    const references = first.output.map((item) => ({ type: 'item_reference' as const, id: item.id ?? '' }))
    const again = await client.responses.create(ask([{ role: 'user', content: 'x' }, ...references, output]))
    expect(again.output_text).toBe('get_weather answered: sunny.')
    await expect(client.responses.create({ ...ask('x'), previous_response_id: 'resp_x' })).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    })
    const unstored = await client.responses.create({ ...ask('[[think]] x'), store: false })
    const item = unstored.output.filter((one) => one.type === 'reasoning')
    await expect(client.responses.create(ask([...item, { role: 'user', content: 'x' }]))).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining('Items are not persisted when `store` is set to false.'),
    })
  })

  it('calls a custom tool with free text, and a tool of a group by its bare name', async () => {
    const tools = [
      { type: 'custom', name: 'patch' },
      { type: 'namespace', name: 'mcp__demo', description: 'd', tools: [{ ...weather, strict: false }] },
    ] as OpenAI.Responses.Tool[]
    const stream = client.responses.stream({
      ...ask('[[tool:patch "*** Begin"]] [[tool:get_weather {"city":"Oslo"}]]'),
      tools,
    })
    const types = new Set<string>()
    for await (const event of stream) types.add(event.type)
    const { output } = await stream.finalResponse()
    expect(types).toContain('response.custom_tool_call_input.done')
    expect(output).toMatchObject([
      { type: 'custom_tool_call', name: 'patch', input: '*** Begin', id: expect.stringMatching(/^ctc_/) },
      { type: 'function_call', name: 'get_weather', namespace: 'mcp__demo', arguments: '{"city":"Oslo"}' },
    ])
  })

  it('executes a tool search, and receives calls of the found tools', async () => {
    const search = { type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } }
    const tools = [search] as unknown as OpenAI.Responses.Tool[]
    const first = await client.responses.create({ ...ask('[[tool:tool_search {"query":"w"}]]'), tools })
    const call = first.output[0] as unknown as { type: string; call_id: string; arguments: object }
    expect(call).toMatchObject({ type: 'tool_search_call', execution: 'client', arguments: { query: 'w' } })
    const found = { type: 'tool_search_output', call_id: call.call_id, execution: 'client', tools: [weather] }
    const input = [call, found, { role: 'user', content: 'the weather in Rome?' }]
    const next = await client.responses.create({ ...ask(input as unknown as OpenAI.Responses.ResponseInput), tools })
    expect(next.output[0]).toMatchObject({ type: 'function_call', name: 'get_weather', arguments: '{"city":"Rome"}' })
  })

  it('receives structured output, refusals and token limits', async () => {
    const schema = { ...weather.parameters }
    const format = { type: 'json_schema' as const, name: 'place', schema, strict: true }
    const parsed = await client.responses.parse({ ...ask('Where is Oslo?'), text: { format } })
    expect(JSON.parse(parsed.output_text)).toEqual({ city: 'Oslo' })
    const refused = await client.responses.stream(ask('[[refuse]]')).finalResponse()
    expect(refused.output[0]).toMatchObject({
      content: [{ type: 'refusal', refusal: "I'm sorry, but I can't help with that." }],
      status: 'completed',
    })
    const cut = await client.responses.stream({ ...ask('[[words:50]]'), max_output_tokens: 16 }).finalResponse()
    expect(cut).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    expect(cut.output[0]).toMatchObject({ status: 'incomplete' })
    expect(cut.usage?.output_tokens).toBe(16)
  })

  it('receives descriptions of images and files, including those in a tool result', async () => {
    const image = { type: 'input_image' as const, detail: 'auto' as const, image_url: 'data:image/png;base64,AAAA' }
    const file = { type: 'input_file' as const, filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAAAAAA' }
    const seen = await client.responses.create(ask([{ role: 'user', content: [image, file] }]))
    expect(seen.output_text).toContain('the image (image/png, 3 bytes) and the file “a.pdf” (application/pdf, 6 bytes)')
    const call = { type: 'function_call' as const, call_id: 'call_1', name: 'look', arguments: '{}' }
    const output = { type: 'function_call_output' as const, call_id: 'call_1', output: [image] }
    const answered = await client.responses.create(ask([call, output]))
    expect(answered.output_text).toBe('look answered: the image (image/png, 3 bytes).')
  })

  it('counts input tokens, including cached ones', async () => {
    const long = 'word '.repeat(100)
    const counted = await client.responses.inputTokens.count({
      model: 'demo-responses',
      instructions: long,
      input: 'x',
    })
    expect(counted).toMatchObject({ object: 'response.input_tokens', input_tokens: 108 })
    const usage = async () => (await client.responses.create({ ...ask('x'), instructions: long })).usage
    expect((await usage())?.input_tokens_details.cached_tokens).toBe(0)
    expect(await usage()).toMatchObject({ input_tokens: 108, input_tokens_details: { cached_tokens: 104 } })
  })

  it('compacts a conversation, and continues with the window', async () => {
    const first = await client.responses.create(ask('My word is nutmeg.'))
    const window = await client.responses.compact({
      model: 'demo-responses',
      previous_response_id: first.id,
      input: 'And my name is Ada.',
    })
    expect(window).toMatchObject({ object: 'response.compaction', usage: { total_tokens: expect.any(Number) } })
    expect(window.output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction'])
    const next = await client.responses.create(ask([...(window.output as OpenAI.Responses.ResponseInputItem[])]))
    expect(next.status).toBe('completed')
    const rejected = client.responses.compact({ model: 'demo-responses', input: 'x', ...{ store: false } })
    await expect(rejected).rejects.toMatchObject({ status: 400, param: 'store' })
  })

  it.each([
    [400, OpenAI.BadRequestError],
    [401, OpenAI.AuthenticationError],
    [429, OpenAI.RateLimitError],
    [503, OpenAI.InternalServerError],
  ])('throws its own error for a %d', async (status, type) => {
    provider.reply({ status })
    await expect(client.responses.create(ask('x'))).rejects.toBeInstanceOf(type)
  })

  it('receives a 400 for an unknown model, where chat returns 404', async () => {
    await expect(client.responses.create({ ...ask('x'), model: 'gpt-x' })).rejects.toMatchObject({
      status: 400,
      code: 'model_not_found',
      param: 'model',
    })
  })

  it('reports a failed stream', async () => {
    const stream = client.responses.stream(ask('[[error-event:server_error after:5]] hello'))
    const types: string[] = []
    const failed = expect(
      (async () => {
        for await (const event of stream) types.push(event.type)
      })(),
    )
    await failed.rejects.toThrow(/server had an error/)
  })

  it('reads, lists and deletes stored responses only', async () => {
    const first = await client.responses.create({ ...ask('Hello there'), store: true })
    expect(await client.responses.retrieve(first.id)).toMatchObject({ id: first.id, output: first.output })
    const { data } = await client.responses.inputItems.list(first.id)
    expect(data).toMatchObject([{ role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] }])
    await client.responses.delete(first.id)
    const unstored = await client.responses.create({ ...ask('Hello there'), store: false })
    for (const id of [first.id, unstored.id])
      await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
  })
})
