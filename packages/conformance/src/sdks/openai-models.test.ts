import { createGateway, type FinishEvent, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, it } from 'vitest'
import { citySchema } from '../base/city-schema.ts'
import { anthropicClient, googleClient, openaiClient } from '../base/sdk-clients.ts'

/** Names of each family of reasoning models, as OpenAI lists them. */
const reasoningModels = [
  'gpt-6-astra',
  'gpt-6-sol',
  'gpt-6.1-sol',
  'gpt-6.1-terra',
  'gpt-5.6-sol',
  'gpt-5.6-luna',
  'gpt-5.5',
  'gpt-5.5-pro',
  'gpt-5.4',
  'gpt-5.4-mini',
  'gpt-5.4-pro',
  'gpt-5.3-codex',
  'gpt-5.2',
  'gpt-5.2-codex',
  'gpt-5.1',
  'gpt-5.1-codex-max',
  'gpt-5',
  'gpt-5-pro',
  'gpt-5-codex',
  'o1',
  'o3',
  'o3-pro',
  'o4-mini',
]
const plainModels = ['gpt-4.1', 'gpt-4o-mini']

/** Creates a gateway with a fake OpenAI that enforces the restrictions of the named models. */
function openaiBehind(options: Parameters<typeof openai>[0] = {}) {
  const fake = createFakeProvider()
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { openai: openai({ apiKey: 'key', ...options }) },
    models: { '*': 'openai' },
    fetch: fake.fetch,
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    retry: false,
    breaker: false,
  })
  const place = { origin: 'http://gateway.test', fetch: gateway.fetch, token: 'any' }
  const losses = (): string[] => (finished.at(-1)?.losses ?? []).map(({ path }) => path)
  return { fake, losses, anthropic: anthropicClient(place), google: googleClient(place), openai: openaiClient(place) }
}

const question = '[[tool:get_weather {"city":"Paris"}]]'

describe.each([...reasoningModels, ...plainModels])('OpenAI model %s with openai()', (model) => {
  it('serves a tool loop of the Anthropic SDK with thinking, a temperature and stop sequences', async () => {
    const { anthropic, fake } = openaiBehind()
    const body = {
      model,
      max_tokens: 32_000,
      thinking: { type: 'adaptive' as const },
      output_config: { effort: 'max' as const },
      temperature: 0.5,
      stop_sequences: ['END'],
      tools: [{ name: 'get_weather', input_schema: { ...citySchema, required: ['city'] } }],
    }
    const messages = [{ role: 'user' as const, content: question }]
    const first = await anthropic.messages.stream({ ...body, messages }).finalMessage()
    expect(first.stop_reason).toBe('tool_use')
    const second = await anthropic.messages
      .stream({
        ...body,
        messages: [
          ...messages,
          { role: 'assistant', content: first.content },
          {
            role: 'user',
            content: first.content
              .filter((block) => block.type === 'tool_use')
              .map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: '18 degrees' })),
          },
        ],
      })
      .finalMessage()
    expect(second.stop_reason).toBe('end_turn')
    expect(fake.requests.map(({ status }) => status)).toEqual([200, 200])
  })

  it('serves a tool call of the Google SDK with a thinking level, sampling and log probabilities', async () => {
    const { google, fake } = openaiBehind()
    const response = await google.models.generateContent({
      model,
      contents: question,
      config: {
        temperature: 0.2,
        topP: 0.9,
        stopSequences: ['END'],
        presencePenalty: 0.5,
        responseLogprobs: true,
        thinkingConfig: { thinkingLevel: 'HIGH' as never },
        tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: citySchema }] }],
      },
    })
    expect(response.functionCalls?.[0]?.name).toBe('get_weather')
    expect(fake.requests.map(({ status }) => status)).toEqual([200])
  })
})

describe('requests to OpenAI', () => {
  it('use Responses for tools with reasoning, and Chat Completions for the same model without tools', async () => {
    const { anthropic, fake } = openaiBehind()
    const body = { model: 'gpt-5.6', max_tokens: 1000, messages: [{ role: 'user' as const, content: 'hello' }] }
    await anthropic.messages.create({ ...body, tools: [{ name: 'f', input_schema: { type: 'object' } }] })
    await anthropic.messages.create(body)
    expect(fake.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/chat/completions'])
  })

  it('report a temperature that the model rejects and keep one that it accepts', async () => {
    const { anthropic, fake, losses } = openaiBehind()
    const messages = [{ role: 'user' as const, content: 'hello' }]
    const ask = (model: string, effort?: 'low') =>
      anthropic.messages.create({
        ...{ temperature: 0.5 }, // older SDKs have it in their types
        model,
        max_tokens: 1000,
        messages,
        ...(effort === undefined ? {} : { output_config: { effort } }),
        // The newest SDK's types no longer have it; clients still send it.
        ...{ temperature: 0.5 },
      })
    await ask('gpt-6-astra')
    expect(fake.requests.at(-1)?.body).not.toHaveProperty('temperature')
    expect(losses()).toContain('/temperature')
    await ask('gpt-5.4')
    expect(fake.requests.at(-1)?.body).toHaveProperty('temperature', 0.5)
    expect(losses()).not.toContain('/temperature')
    await ask('gpt-5.4', 'low')
    expect(fake.requests.at(-1)?.body).not.toHaveProperty('temperature')
    expect(losses()).toContain('/temperature')
  })

  it('disable reasoning with a report if only Chat Completions is available and the model requires that for tools', async () => {
    const { anthropic, fake, losses } = openaiBehind({ formats: ['chat'] })
    await anthropic.messages.create({
      model: 'gpt-5.6-sol',
      max_tokens: 1000,
      output_config: { effort: 'high' },
      messages: [{ role: 'user', content: question }],
      tools: [{ name: 'get_weather', input_schema: { ...citySchema, required: ['city'] } }],
    })
    expect(fake.requests.at(-1)?.body).toHaveProperty('reasoning_effort', 'none')
    expect(losses()).toContain('/output_config/effort')
  })

  it('are rejected without an upstream call if the model accepts no tools in the only available format', async () => {
    const { anthropic, fake } = openaiBehind({ formats: ['chat'] })
    const call = anthropic.messages.create({
      model: 'gpt-6-astra',
      max_tokens: 1000,
      messages: [{ role: 'user', content: question }],
      tools: [{ name: 'get_weather', input_schema: { ...citySchema, required: ['city'] } }],
    })
    await expect(call).rejects.toMatchObject({ status: 400 })
    expect(fake.requests).toHaveLength(0)
  })

  it("pass unchanged in the client's own format, with the provider's rejection", async () => {
    const { openai: client, fake } = openaiBehind()
    const call = client.chat.completions.create({
      model: 'gpt-6-astra',
      messages: [{ role: 'user', content: 'hello' }],
      temperature: 0.5,
    })
    await expect(call).rejects.toMatchObject({ status: 400, param: 'temperature', code: 'unsupported_value' })
    expect(fake.requests.at(-1)?.body).toHaveProperty('temperature', 0.5)
  })

  it('apply configured rules before built-in ones, and treat a deployment like its model', async () => {
    const { anthropic, fake } = openaiBehind({
      modelRules: [{ model: 'my-deployment', like: 'gpt-5.6' }, { model: 'gpt-6-astra' }],
    })
    const body = { max_tokens: 1000, temperature: 0.5, messages: [{ role: 'user' as const, content: 'hello' }] }
    await anthropic.messages.create({ ...body, model: 'my-deployment' })
    expect(fake.requests.at(-1)?.body).not.toHaveProperty('temperature')
    await anthropic.messages.create({ ...body, model: 'gpt-6-astra' }).catch(() => undefined)
    expect(fake.requests.at(-1)?.body).toHaveProperty('temperature', 0.5)
  })
})
