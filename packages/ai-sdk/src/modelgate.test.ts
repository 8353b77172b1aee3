import { anthropic, createGateway, type GatewayConfig, gemini, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import {
  APICallError,
  createProviderRegistry,
  embed,
  embedMany,
  generateImage,
  generateObject,
  experimental_generateSpeech as generateSpeech,
  generateText,
  Output,
  stepCountIs,
  streamText,
  tool,
  experimental_transcribe as transcribe,
} from 'ai'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { formatOfModel } from './formats.ts'
import { createModelgate, type ModelgateOptions, type WireFormat } from './index.ts'

const provider = createFakeProvider()
type Names = 'chat' | 'responses' | 'claude' | 'google'

const createTestGateway = (more: Partial<GatewayConfig<Names>> = {}) =>
  createGateway<Names>({
    auth: (token) => (token.startsWith('user-') ? { id: token } : null),
    upstreams: {
      chat: openai({ apiKey: 'k', formats: ['chat'] }),
      responses: openai({ apiKey: 'k', formats: ['responses'] }),
      claude: anthropic({ apiKey: 'k' }),
      google: gemini({ apiKey: 'k' }),
    },
    models: {
      'gpt-5.1': 'responses',
      'vendor/fast': { upstream: 'google', model: 'gemini-3-flash' },
      'claude-*': 'claude',
      'gemini-*': 'google',
      '*': 'chat',
    },
    fetch: provider.fetch,
    logger: false,
    ...more,
  })

const gateway = createTestGateway()
const createUser = (options: ModelgateOptions = {}) => createModelgate(gateway, { apiKey: 'user-1', ...options })

/** Path of the latest request that reached the fake provider. */
const latestPath = () => provider.requests.at(-1)?.path

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** The SDK prints a warning for each unsupported option; the tests read `warnings` instead. */
const warnings = globalThis.AI_SDK_LOG_WARNINGS
beforeAll(() => {
  globalThis.AI_SDK_LOG_WARNINGS = false
})
afterAll(async () => {
  globalThis.AI_SDK_LOG_WARNINGS = warnings
  await gateway.close()
})

const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
})

const upstreams = { responses: 'gpt-5.1', chat: 'gpt-4.1', messages: 'claude-opus-5', gemini: 'gemini-3-flash' }
const formats: readonly (WireFormat | undefined)[] = [undefined, 'responses', 'chat', 'messages', 'gemini']
const cases = formats.flatMap((format) =>
  Object.entries(upstreams).map(([upstream, name]) => ({ format: format ?? 'default', upstream, name })),
)

describe.each(cases)('format $format, upstream of the format $upstream', ({ format, name }) => {
  const modelgate = createUser(format === 'default' ? {} : { format: format as WireFormat })
  const call = { model: modelgate(name), maxRetries: 0 }

  it('generates text with usage', async () => {
    const { text, usage, finishReason } = await generateText({ ...call, prompt: '[[say:a complete text]]' })
    expect(text).toContain('a complete text')
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.outputTokens).toBeGreaterThan(0)
    expect(finishReason).toBe('stop')
  })

  it('streams text with usage', async () => {
    const stream = streamText({ ...call, prompt: '[[say:a text in parts]]' })
    const parts: string[] = []
    for await (const part of stream.textStream) parts.push(part)
    expect(parts.join('')).toContain('a text in parts')
    expect(parts.length).toBeGreaterThan(1)
    expect((await stream.usage).outputTokens).toBeGreaterThan(0)
  })

  it.each(['complete', 'streamed'])('calls tools in a loop, %s', async (mode) => {
    const loop = {
      ...call,
      prompt: 'Use get_weather: what is the weather in Paris?',
      tools: { get_weather: weather },
      stopWhen: stepCountIs(3),
    }
    const result = mode === 'streamed' ? streamText(loop) : await generateText(loop)
    expect(await result.text).toMatch(/It is sunny in \w+/)
    expect((await result.steps).length).toBe(2)
  })

  it('returns structured output', async () => {
    const schema = z.object({ city: z.string(), population: z.number() })
    const { output } = await generateText({ ...call, prompt: 'Name a city.', output: Output.object({ schema }) })
    expect(schema.safeParse(output).success).toBe(true)
    const { object } = await generateObject({ ...call, prompt: 'Name a city.', schema })
    expect(schema.safeParse(object).success).toBe(true)
  })

  it('sends an image', async () => {
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image' as const, image: pixel },
    ]
    const { text } = await generateText({ ...call, messages: [{ role: 'user', content }] })
    expect(text).not.toBe('')
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain(pixel)
  })

  it('aborts the call to the upstream', async () => {
    const { aborted } = provider.stats
    const before = provider.requests.length
    const leaving = new AbortController()
    const stream = streamText({ ...call, prompt: '[[stall after:2]]', abortSignal: leaving.signal, onError: () => {} })
    const read = stream.consumeStream()
    await expect.poll(() => provider.requests.length).toBe(before + 1)
    leaving.abort()
    await read
    await expect.poll(() => provider.stats.aborted).toBe(aborted + 1)
  })

  it('reports an error of the upstream with its status and a readable message', async () => {
    const error = await generateText({ ...call, prompt: '[[status:400]]' }).catch((reason: unknown) => reason)
    expect(APICallError.isInstance(error) && [error.statusCode, error.isRetryable]).toEqual([400, false])
    expect((error as Error).message).toMatch(/^\w[^{}]+$/)
  })

  it('reports an unknown token', async () => {
    const unknown = createUser({ apiKey: 'nobody', ...(format === 'default' ? {} : { format: format as WireFormat }) })
    const error = await generateText({ ...call, model: unknown(name), prompt: 'Hi' }).catch((reason: unknown) => reason)
    // Google's API answers 400 to an unknown key.
    const used = format === 'default' ? formatOfModel(name) : format
    expect(APICallError.isInstance(error) && error.statusCode).toBe(used === 'gemini' ? 400 : 401)
    expect((error as Error).message).toMatch(/key|token|credential/i)
  })
})

describe('other models', () => {
  it('embeds values', async () => {
    const { embedding } = await embed({ model: createUser().embeddingModel('text-embedding-3-small'), value: 'hello' })
    expect(embedding.length).toBeGreaterThan(0)
    const model = createUser().textEmbeddingModel('text-embedding-3-small')
    const { embeddings } = await embedMany({ model, values: ['one', 'two'] })
    expect(embeddings.map(({ length }) => length)).toEqual([embedding.length, embedding.length])
  })

  it('generates an image', async () => {
    const { image } = await generateImage({ model: createUser().imageModel('gpt-image-1'), prompt: 'A pixel.' })
    expect(image.uint8Array.length).toBeGreaterThan(0)
  })

  it('generates speech and transcribes it', async () => {
    const { audio } = await generateSpeech({ model: createUser().speechModel('gpt-4o-mini-tts'), text: 'Hello' })
    expect(audio.uint8Array.length).toBeGreaterThan(0)
    const model = createUser().transcriptionModel('gpt-4o-transcribe')
    const { text } = await transcribe({ model, audio: audio.uint8Array })
    expect(text).not.toBe('')
  })
})

/** Returns a fetch function that rejects each request, and the requests. */
function recorder() {
  const sent: Request[] = []
  const fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    sent.push(new Request(input, init))
    return new Response('{}', { status: 400 })
  }
  return { sent, fetch }
}

it('sends a hostile name of a model to the path of its operation, for every kind of model', async () => {
  const { sent, fetch } = recorder()
  const name = 'gemini-3/../../../v1/admin/tokens?'
  const modelOf = (format: WireFormat) => createModelgate({ ...gateway, fetch }, { apiKey: 'user-1', format })
  const modelgate = modelOf('responses')
  const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
    ...(['responses', 'chat', 'messages', 'gemini'] as const).map(
      (format) =>
        [
          { responses: '/v1/responses', chat: '/v1/chat/completions', messages: '/v1/messages', gemini: '' }[format],
          async () => generateText({ model: modelOf(format)(name), maxRetries: 0, prompt: 'Hi' }),
        ] as const,
    ),
    ['/v1/embeddings', () => embed({ model: modelgate.embeddingModel(name), maxRetries: 0, value: 'Hi' })],
    ['/v1/images/generations', () => generateImage({ model: modelgate.imageModel(name), maxRetries: 0, prompt: 'Hi' })],
    ['/v1/audio/speech', () => generateSpeech({ model: modelgate.speechModel(name), maxRetries: 0, text: 'Hi' })],
    [
      '/v1/audio/transcriptions',
      () => transcribe({ model: modelgate.transcriptionModel(name), maxRetries: 0, audio: new Uint8Array(8) }),
    ],
  ]
  for (const [, call] of calls) await expect(call()).rejects.toThrow()
  const paths = calls.map(([path]) => path).filter((path) => path !== '')
  expect(sent.map(({ url }) => url)).toEqual(paths.map((path) => `http://gateway${path}`))
})

describe('formats', () => {
  it.each([
    ['claude-opus-5', '/v1/messages'],
    ['gemini-3-flash', '/v1beta/models/gemini-3-flash:generateContent'],
    ['gpt-5.1', '/v1/responses'],
  ])('passes a request for %s to its upstream without translation', async (name, path) => {
    const { response } = await generateText({ model: createUser()(name), maxRetries: 0, prompt: 'Hi' })
    expect(latestPath()).toBe(path)
    expect(response.headers?.['modelgate-loss']).toBeUndefined()
  })

  it.each<WireFormat | undefined>([undefined, 'responses', 'chat', 'messages', 'gemini'])(
    'calls a model whose name contains a slash, with the format %s',
    async (format) => {
      const model = createUser(format === undefined ? {} : { format })('vendor/fast')
      const { text } = await generateText({ model, maxRetries: 0, prompt: '[[say:a name with a slash]]' })
      expect(text).toContain('a name with a slash')
    },
  )

  it.each(['vendor/gemini-3:free', 'gemini-3 100%', 'gemini-ü?x=1#y', 'gemini-3%2f..%2f..'])(
    'calls the model %s by its name, and reports this name',
    async (name) => {
      const asked: string[] = []
      const own = createTestGateway({
        models: { '*': { upstream: 'chat', model: 'gpt-4.1' } },
        plugins: [{ name: 'seen', onFinish: ({ model }) => void asked.push(String(model)) }],
      })
      const modelgate = createModelgate(own, { apiKey: 'user-1', format: 'gemini' })
      const { response } = await generateText({ model: modelgate(name), maxRetries: 0, prompt: 'Hi' })
      await streamText({ model: modelgate(name), maxRetries: 0, prompt: 'Hi' }).consumeStream()
      await own.close()
      expect([...asked, response.modelId]).toEqual([name, name, name])
    },
  )

  it.each(['gemini-3/../../../v1/admin/tokens?', 'a/./b', '..', 'a//b', '', 'a\ud800'])(
    'rejects the name %j, which no path can contain',
    (name) => {
      expect(() => createUser({ format: 'gemini' })(name)).toThrow(/^Invalid model name '/)
    },
  )

  it('chooses the format by a function', async () => {
    const model = createUser({ format: (name) => (name === 'gpt-4.1' ? 'chat' : 'messages') })
    await generateText({ model: model('gpt-4.1'), maxRetries: 0, prompt: 'Hi' })
    expect(latestPath()).toBe('/v1/chat/completions')
  })

  it('continues a conversation with reasoning of each vendor without stored state', async () => {
    const stateless = createTestGateway({ responses: { store: false } })
    for (const name of ['gpt-5.1', 'claude-opus-5', 'gemini-3-flash']) {
      const { steps, warnings: reported } = await generateText({
        model: createModelgate(stateless, { apiKey: 'user-1' })(name),
        maxRetries: 0,
        prompt: 'Use get_weather: what is the weather in Paris?',
        tools: { get_weather: weather },
        stopWhen: stepCountIs(3),
        providerOptions: {
          openai: { reasoningEffort: 'low', reasoningSummary: 'auto' },
          anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
          google: { thinkingConfig: { includeThoughts: true } },
        },
      })
      expect([name, steps.length, reported]).toEqual([name, 2, []])
      expect(steps[0]?.content.some(({ type }) => type === 'reasoning')).toBe(true)
    }
    await stateless.close()
  })

  it('leaves stored state to a call that sets it', async () => {
    const call = { model: createUser()('gpt-5.1'), maxRetries: 0 }
    const first = await generateText({ ...call, prompt: 'Hi', providerOptions: { openai: { store: true } } })
    const openaiOptions = { previousResponseId: first.response.id }
    const second = await generateText({ ...call, prompt: 'Go on', providerOptions: { openai: openaiOptions } })
    expect(second.text).not.toBe('')
  })

  it('rejects an unknown format with the possible ones', () => {
    const unknown = 'openai' as WireFormat
    expect(() => createUser({ format: unknown })).toThrow(
      /Unknown format 'openai': use one of responses, chat, messages, gemini/,
    )
    expect(() => createUser({ format: () => unknown })('gpt-5.1')).toThrow(TypeError)
  })
})

describe('credentials', () => {
  const whoAmI = async (options: ModelgateOptions, headers?: Record<string, string>) => {
    const seen: unknown[] = []
    const own = createTestGateway({
      plugins: [{ name: 'seen', onFinish: ({ identity }) => void seen.push(identity?.id) }],
    })
    for (const format of ['responses', 'chat', 'messages', 'gemini'] as const) {
      const model = createModelgate(own, { ...options, format })('gpt-4.1')
      await generateText({ model, maxRetries: 0, prompt: 'Hi', ...(headers === undefined ? {} : { headers }) })
    }
    await own.close()
    return seen
  }

  it('are a token, a function called for each request, or a header of the call', async () => {
    expect(await whoAmI({ apiKey: 'user-2' })).toEqual(Array(4).fill('user-2'))
    let calls = 0
    expect(await whoAmI({ apiKey: async () => `user-${++calls}` })).toEqual(['user-1', 'user-2', 'user-3', 'user-4'])
    expect(await whoAmI({ apiKey: 'user-2' }, { Authorization: 'Bearer user-3' })).toEqual(Array(4).fill('user-3'))
    expect(await whoAmI({ headers: { 'x-api-key': 'user-4' } })).toEqual(Array(4).fill('user-4'))
  })

  it.each(['modelgate', 'placeholder', ''])('of a call are never replaced, even if they are %j', async (token) => {
    const { sent, fetch } = recorder()
    for (const format of ['responses', 'chat', 'messages', 'gemini'] as const)
      for (const headers of [
        { Authorization: `Bearer ${token}` },
        { 'x-api-key': token },
        { 'x-goog-api-key': token },
      ]) {
        const model = createModelgate({ ...gateway, fetch }, { apiKey: 'user-app', format })('gpt-4.1')
        await generateText({ model, maxRetries: 0, prompt: 'Hi', headers }).catch(() => undefined)
        const [[name = '', value] = []] = Object.entries(headers)
        // White space at the end of a header is no part of it.
        expect(Object.fromEntries(sent.at(-1)?.headers ?? [])).toMatchObject({ [name.toLowerCase()]: value?.trim() })
        expect([...(sent.at(-1)?.headers.values() ?? [])].join()).not.toContain('user-app')
      }
    expect(sent).toHaveLength(12)
  })

  it('are never read from the environment', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'user-secret')
    vi.stubEnv('ANTHROPIC_API_KEY', 'user-secret')
    vi.stubEnv('ANTHROPIC_AUTH_TOKEN', 'user-secret')
    vi.stubEnv('GOOGLE_GENERATIVE_AI_API_KEY', 'user-secret')
    vi.stubEnv('OPENAI_BASE_URL', 'http://127.0.0.1:1')
    try {
      for (const format of ['responses', 'chat', 'messages', 'gemini'] as const) {
        const model = createModelgate(gateway, { format })('gpt-4.1')
        // Google's API answers 400 to a request without a valid key.
        const statusCode = format === 'gemini' ? 400 : 401
        await expect(generateText({ model, maxRetries: 0, prompt: 'Hi' })).rejects.toMatchObject({ statusCode })
      }
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it("are not needed with auth: 'none'", async () => {
    const open = createTestGateway({ auth: 'none' })
    const { text } = await generateText({ model: createModelgate(open)('claude-opus-5'), prompt: '[[say:open]]' })
    expect(text).toContain('open')
    await open.close()
  })
})

it('serves a gateway with a base path and rejects an invalid one', async () => {
  const below = createTestGateway({ basePath: '/ai' })
  const modelgate = createModelgate(below, { apiKey: 'user-1', basePath: '/ai' })
  for (const name of Object.values(upstreams))
    expect((await generateText({ model: modelgate(name), prompt: '[[say:below]]' })).text).toContain('below')
  await below.close()
  expect(() => createUser({ basePath: 'ai' })).toThrow(/Invalid basePath 'ai'/)
})

it('is a provider for a registry of AI SDK', async () => {
  const registry = createProviderRegistry({ gateway: createUser() }, { separator: ' > ' })
  const { text } = await generateText({
    model: registry.languageModel('gateway > gpt-5.1'),
    prompt: '[[say:registered]]',
  })
  expect(text).toContain('registered')
})
