import {
  ApiError,
  type CallableTool,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  type Part,
  Type,
} from '@google/genai'
import { expect } from 'vitest'
import { listOf, objectOf, parseJson } from '../base/json.ts'
import { abortCases, casesIn, failureCases } from './cases.ts'
import {
  type Case,
  callResults,
  citySchema,
  clientToken,
  modelNames,
  onTwoServers,
  rejection,
  type SdkFixture,
  twoCalls,
} from './context.ts'

interface Ask {
  readonly model?: string
  readonly contents: string | Content[]
  readonly config?: GenerateContentConfig
}
/** All parts of a response in order, and the last chunk. */
interface Heard {
  readonly parts: readonly Part[]
  readonly text: string
  readonly last: GenerateContentResponse
}

const received = (chunks: readonly GenerateContentResponse[]): Heard => {
  const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? [])
  const last = chunks.at(-1)
  if (last === undefined) throw new Error('the stream was empty')
  return { parts, last, text: parts.map((part) => (part.thought === true ? '' : (part.text ?? ''))).join('') }
}
const modes = {
  whole: async ({ google }: SdkFixture, ask: Ask): Promise<Heard> =>
    received([await google.models.generateContent({ model: 'demo', ...ask })]),
  async streamed({ google }: SdkFixture, ask: Ask): Promise<Heard> {
    const chunks: GenerateContentResponse[] = []
    for await (const chunk of await google.models.generateContentStream({ model: 'demo', ...ask })) chunks.push(chunk)
    return received(chunks)
  },
}
const inBothModes = casesIn(modes)

/** A schema in Google's own notation. */
const parameters = { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] }
const tools = [
  {
    functionDeclarations: ['get_weather', 'get_time'].map((name) => ({
      name,
      description: `Knows ${name}`,
      parameters,
    })),
  },
]
const user = (...parts: Part[]): Content => ({ role: 'user', parts })
const toolRound =
  (model: string) =>
  async (setting: SdkFixture, ask: (typeof modes)['whole']): Promise<void> => {
    const question = user({ text: twoCalls })
    const { parts, last } = await ask(setting, { model, contents: [question], config: { tools } })
    expect(last.candidates?.[0]?.finishReason).toBe('STOP')
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
    expect(calls.map(({ name, args }) => [name, args])).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_time', { city: 'Oslo' }],
    ])
    const results = calls.map(({ id, name = '' }) => ({
      functionResponse: { name, response: { output: callResults[name] }, ...(id === undefined ? {} : { id }) },
    }))
    const contents = [question, { role: 'model', parts: [...parts] }, user(...results)]
    const { text } = await ask(setting, { model, contents, config: { tools } })
    expect(text).toContain('get_weather answered: 18 degrees')
    expect(text).toContain('get_time answered: half past nine')
  }

const failures = [
  { name: '429', text: '[[status:429 retry-after:7]]', type: ApiError, status: 429, word: 'RESOURCE_EXHAUSTED' },
  { name: '500', text: '[[status:500]]', type: ApiError, status: 502, word: 'INTERNAL' },
  { name: 'overloaded', text: '[[status:529]]', type: ApiError, status: 503, word: 'UNAVAILABLE' },
] as const

/** Returns the response body, which the SDK uses as the message. */
export const errorOf = (error: Error): { readonly [key: string]: unknown } =>
  objectOf(objectOf(parseJson(error.message)).error)

/** Sends requests that the SDK does not support. */
const post = ({ fetch, origin }: SdkFixture, path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
const keyed = { 'x-goog-api-key': clientToken }

/** Cases of the Google SDK, for every server and upstream. */
export const googleCases: readonly Case[] = [
  ...inBothModes('receives text', async (setting, ask) => {
    const { text, last } = await ask(setting, { contents: '[[say:Hello — wörld 🙂]]' })
    expect(text).toBe('Hello — wörld 🙂')
    expect(last.candidates?.[0]).toMatchObject({ finishReason: 'STOP', content: { role: 'model' } })
    expect(last.modelVersion).toBe(setting.responseModel)
    expect(last.responseId).not.toBe('')
    const { promptTokenCount = 0, candidatesTokenCount = 0, totalTokenCount } = last.usageMetadata ?? {}
    expect(promptTokenCount).toBeGreaterThan(0)
    expect(candidatesTokenCount).toBeGreaterThan(0)
    expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount)
  }),
  {
    name: 'receives chunks that the SDK’s chat keeps, each with parts, and one finish reason',
    async run({ google }) {
      const endings: unknown[] = []
      for await (const chunk of await google.models.generateContentStream({
        model: 'demo',
        contents: '[[say:one two three]]',
      })) {
        expect(chunk.candidates?.[0]?.content?.role).toBe('model')
        expect(chunk.candidates?.[0]?.content?.parts?.length).toBeGreaterThan(0)
        endings.push(chunk.candidates?.[0]?.finishReason)
      }
      expect(endings.length).toBeGreaterThan(2)
      expect(endings.filter((ending) => ending !== undefined)).toEqual(['STOP'])
      expect(endings.at(-1)).toBe('STOP')
    },
  },
  {
    name: 'sends the system instruction, and a chat with history',
    async run({ google, fake }) {
      const chat = google.chats.create({ model: 'demo', config: { systemInstruction: 'Be brief.' } })
      let text = ''
      for await (const chunk of await chat.sendMessageStream({ message: '[[say:My name is Ada.]]' })) text += chunk.text
      await chat.sendMessage({ message: 'What was that?' })
      expect(text).toBe('My name is Ada.')
      expect(chat.getHistory(true).length).toBeGreaterThanOrEqual(4)
      const { bodyText = '' } = fake.requests.at(-1) ?? {}
      expect(bodyText).toContain('Be brief.')
      expect(bodyText).toContain('What was that?')
      expect(bodyText.match(/Ada/g)).toHaveLength(2)
    },
  },
  {
    name: 'may request a renamed model, and a name with a slash',
    async run({ google, fake, responseModel }) {
      for (const [model, upstream] of [
        ['renamed', 'upstream-name'],
        ['org/model-2', 'org/model-2'],
        ['models/demo', responseModel],
      ] as const) {
        await google.models.generateContent({ model, contents: 'hello' })
        expect(fake.requests.at(-1)?.model).toBe(upstream)
      }
    },
  },
  ...inBothModes('completes a parallel tool round trip', toolRound('demo')),
  ...onTwoServers(
    inBothModes('completes a parallel tool round trip with a model whose calls have no ids', toolRound('nameless')),
  ),
  {
    name: 'calls functions automatically',
    rare: true,
    async run({ google }) {
      const seen: unknown[] = []
      const callable: CallableTool = {
        tool: async () => tools[0] ?? {},
        callTool: async (calls) =>
          calls.map(({ id, name = '', args }) => {
            seen.push(args)
            return { functionResponse: { name, response: { output: callResults[name] }, ...(id ? { id } : {}) } }
          }),
      }
      const answer = await google.models.generateContent({
        model: 'demo',
        contents: twoCalls,
        config: { tools: [callable] },
      })
      expect(seen).toEqual([{ city: 'Paris' }, { city: 'Oslo' }])
      expect(answer.text).toContain('get_weather answered: 18 degrees')
    },
  },
  {
    name: 'sends the function calling modes',
    rare: true,
    async run({ google }) {
      const calls = async (mode: FunctionCallingConfigMode, allowedFunctionNames?: string[]): Promise<unknown> => {
        const functionCallingConfig = { mode, ...(allowedFunctionNames ? { allowedFunctionNames } : {}) }
        const config = { tools, toolConfig: { functionCallingConfig } }
        const answer = await google.models.generateContent({ model: 'demo', contents: 'in Paris?', config })
        return answer.functionCalls?.map(({ name }) => name)
      }
      expect(await calls(FunctionCallingConfigMode.NONE)).toBeUndefined()
      expect(await calls(FunctionCallingConfigMode.AUTO)).toBeUndefined()
      expect(await calls(FunctionCallingConfigMode.ANY)).toEqual(['get_weather'])
      expect(await calls(FunctionCallingConfigMode.ANY, ['get_time'])).toEqual(['get_time'])
    },
  },
  ...[{ responseSchema: parameters }, { responseJsonSchema: citySchema }].flatMap((schema) =>
    inBothModes(`receives structured output by ${Object.keys(schema)[0]}`, async (setting, ask) => {
      const config = { responseMimeType: 'application/json', ...schema }
      const { text } = await ask(setting, { contents: 'Where is the tower of Pisa?', config })
      expect(parseJson(text)).toEqual({ city: expect.any(String) })
    }),
  ),
  {
    name: 'receives several candidates or a rejection, never silently one candidate',
    rare: true,
    async run({ google, upstream }) {
      const call = google.models.generateContent({ model: 'demo', contents: 'hello', config: { candidateCount: 2 } })
      if (upstream === 'gemini' || upstream === 'chat') {
        expect((await call).candidates).toHaveLength(2)
        return
      }
      const error = await rejection(call)
      expect(error.status).toBe(400)
      expect(error.message).toContain('generationConfig.candidateCount')
    },
  },
  {
    name: 'receives a token count',
    rare: true,
    async run({ google }) {
      const { totalTokens } = await google.models.countTokens({ model: 'demo', contents: 'one two three' })
      expect(totalTokens).toBeGreaterThan(2)
    },
  },
  {
    name: 'throws for an invalid key with the error of Google, without an upstream call',
    async run({ unknownTokenClients, fake }) {
      const before = fake.requests.length
      const error = await rejection(
        unknownTokenClients.google.models.generateContent({ model: 'demo', contents: 'hello' }),
      )
      expect(error).toBeInstanceOf(ApiError)
      expect(error.status).toBe(400)
      expect(errorOf(error)).toMatchObject({
        code: 400,
        status: 'INVALID_ARGUMENT',
        details: expect.arrayContaining([expect.objectContaining({ reason: 'API_KEY_INVALID' })]),
      })
      expect(fake.requests).toHaveLength(before)
    },
  },
  {
    name: 'throws a 404 and a 400 with Google’s status and the field',
    async run({ google }) {
      const unknown = await rejection(google.models.generateContent({ model: 'no-such-model', contents: 'hello' }))
      expect(unknown).toBeInstanceOf(ApiError)
      expect(errorOf(unknown)).toMatchObject({ code: 404, status: 'NOT_FOUND' })
      const config = { temperature: 2.5 }
      const wrong = await rejection(google.models.generateContent({ model: 'demo', contents: 'hello', config }))
      expect(errorOf(wrong)).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' })
      // The gateway's own message, or that of an upstream of the same format.
      expect(wrong.message).toMatch(/generation_?config.temperature/i)
    },
  },
  ...failureCases(
    failures,
    ({ google }, contents, stream): Promise<unknown> =>
      stream
        ? google.models.generateContentStream({ model: 'demo', contents })
        : google.models.generateContent({ model: 'demo', contents }),
    (error, { name, status, word }) => {
      expect(errorOf(error)).toMatchObject({ code: status, status: word })
      if (name === '429') expect(error.message).toContain('"retryDelay":"7s"')
    },
  ),
  ...abortCases(
    async ({ google }, contents) => {
      const controller = new AbortController()
      const config = { abortSignal: controller.signal }
      const stream = await google.models.generateContentStream({ model: 'demo', contents, config })
      await rejection(
        (async () => {
          for await (const chunk of stream) if (chunk.text) controller.abort()
        })(),
      )
    },
    ({ google }, contents, abortSignal) =>
      google.models.generateContent({ model: 'demo', contents, config: { abortSignal } }),
    (error) => expect(error.name).toBe('AbortError'),
  ),
  {
    name: 'reads the model list and one model',
    async run({ google }) {
      const names: unknown[] = []
      for await (const model of await google.models.list()) names.push(model.name)
      expect(names).toEqual(modelNames.map((name) => `models/${name}`))
      expect(await google.models.get({ model: 'org/model-2' })).toMatchObject({ name: 'models/org/model-2' })
      expect(errorOf(await rejection(google.models.get({ model: 'absent' })))).toMatchObject({ status: 'NOT_FOUND' })
    },
  },
  {
    name: 'receives a stream as one array without alt=sse',
    async run(setting) {
      const contents = [{ parts: [{ text: '[[say:one two three]]' }] }]
      const answer = await post(setting, '/v1beta/models/demo:streamGenerateContent', { contents }, keyed)
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
      const chunks = listOf(parseJson(await answer.text())) as unknown as GenerateContentResponse[]
      expect(chunks.length).toBeGreaterThan(2)
      expect(received(chunks).text).toBe('one two three')
      const broken = [{ parts: [{ text: '[[words:50]] [[error-event after:8]]' }] }]
      const failed = await post(setting, '/v1beta/models/demo:streamGenerateContent', { contents: broken }, keyed)
      const last = objectOf(listOf(parseJson(await failed.text())).at(-1))
      expect(objectOf(last.error).message).toMatch(/overloaded|server had an error/i)
    },
  },
  {
    name: 'may use the newer path, the Vertex AI path, the key in the query, and names in snake_case',
    async run(setting) {
      const body = { contents: [{ parts: [{ text: '[[say:hi]]' }] }], generation_config: { max_output_tokens: 16 } }
      for (const path of [
        '/v1/models/demo:generateContent',
        `/v1beta/models/demo:generateContent?key=${clientToken}`,
        '/v1beta1/publishers/google/models/demo:generateContent',
      ]) {
        const answer = await post(setting, path, body, path.includes('key=') ? {} : keyed)
        expect(answer.status, path).toBe(200)
        expect(received([(await answer.json()) as GenerateContentResponse]).text).toBe('hi')
        expect(setting.fake.requests.at(-1)?.bodyText).toMatch(/"max\w*_?tokens"?\w*:\s*16|"maxOutputTokens":\s*16/i)
      }
    },
  },
]
