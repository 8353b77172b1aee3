import { ApiError, type Content, FunctionCallingConfigMode, GoogleGenAI, type Part, Type } from '@google/genai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFakeProvider, type ListeningProvider, listen } from '../index.ts'

const model = 'demo-gemini'
const provider = createFakeProvider({ apiKey: 'good-key', models: [model, 'team/own-model'] })
let server: ListeningProvider
let client: GoogleGenAI

beforeAll(async () => {
  server = await listen(provider)
  client = new GoogleGenAI({ apiKey: 'good-key', httpOptions: { baseUrl: server.origin } })
})
afterAll(() => server.close())
beforeEach(() => provider.reset())

const declaration = {
  name: 'get_weather',
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
}
const tools = [{ functionDeclarations: [declaration] }]
const thinkingConfig = { includeThoughts: true }

/** Collects a stream's parts and its last chunk. */
async function streamed(contents: string | Content[], config = {}) {
  const parts: Part[] = []
  let last: Awaited<ReturnType<typeof client.models.generateContent>> | undefined
  for await (const chunk of await client.models.generateContentStream({ model, contents, config })) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    last = chunk
  }
  return { parts, last }
}

describe('official Google client', () => {
  it('reads a text response', async () => {
    const answer = await client.models.generateContent({ model, contents: 'Hello there' })
    expect(answer.text).toContain('You said: “Hello there”.')
    expect(answer.candidates?.[0]).toMatchObject({ finishReason: 'STOP', content: { role: 'model' } })
    expect(answer.responseId).toMatch(/^[\w-]{23}$/)
    expect(answer.modelVersion).toBe(model)
  })

  it('streams the same content as the unstreamed response', async () => {
    const whole = await client.models.generateContent({ model, contents: 'Hello there', config: { thinkingConfig } })
    const { parts, last } = await streamed('Hello there', { thinkingConfig })
    const text = (thought: boolean) =>
      parts
        .filter((part) => (part.thought ?? false) === thought)
        .map((part) => part.text)
        .join('')
    expect(text(false)).toBe(whole.text)
    expect(text(true)).toBe(whole.candidates?.[0]?.content?.parts?.[0]?.text)
    expect(last?.usageMetadata).toEqual(whole.usageMetadata)
    expect(last?.candidates?.[0]?.finishReason).toBe('STOP')
    expect(parts.at(-1)).toEqual({ text: '', thoughtSignature: expect.any(String) })
  })

  it.each([
    ['unstreamed', false],
    ['streamed', true],
  ])('runs a thinking tool loop with valid signatures (%s)', async (_name, stream) => {
    const config = { tools, thinkingConfig }
    const question = { role: 'user', parts: [{ text: '[[tools:2]] the weather in Paris?' }] }
    const first = stream
      ? (await streamed([question], config)).parts
      : ((await client.models.generateContent({ model, contents: [question], config })).candidates?.[0]?.content
          ?.parts ?? [])
    const calls = first.filter((part) => part.functionCall)
    expect(calls.map((part) => [part.functionCall?.args, part.thoughtSignature !== undefined])).toEqual([
      [{ city: 'Paris' }, true],
      [{ city: 'Paris' }, false],
    ])
    const results = calls.map(({ functionCall: call }) => ({
      functionResponse: { name: 'get_weather', response: { output: 'sunny' }, ...(call?.id ? { id: call.id } : {}) },
    }))
    const history = (parts: Part[]) => [question, { role: 'model', parts }, { role: 'user', parts: results }]
    const send = (parts: Part[]) => client.models.generateContent({ model, contents: history(parts), config })
    expect((await send(first)).text).toBe('get_weather answered: sunny. get_weather answered: sunny.')
    const sealed = (seal: string | undefined) =>
      first.map(({ thoughtSignature, ...part }) =>
        thoughtSignature === undefined || seal === undefined ? part : { ...part, thoughtSignature: seal },
      )
    await expect(send(sealed('Zm9yZWlnbg=='))).rejects.toThrow(/Corrupted thought signature/)
    await expect(send(sealed(undefined))).rejects.toThrow(/missing a thought_signature in functionCall parts/)
    const seal = 'skip_thought_signature_validator'
    expect((await send(sealed(seal))).text).toContain('sunny')
  })

  it('continues a chat', async () => {
    const chat = client.chats.create({ model, config: { tools, thinkingConfig } })
    const first = await chat.sendMessage({ message: 'the weather in Paris?' })
    expect(first.functionCalls).toEqual([{ name: 'get_weather', args: { city: 'Paris' }, id: expect.any(String) }])
    const call = first.functionCalls?.[0]
    const functionResponse = { name: 'get_weather', id: call?.id ?? '', response: { error: 'no such city' } }
    const second = await chat.sendMessage({ message: { functionResponse } })
    expect(second.text).toBe('get_weather failed: no such city.')
    let text = ''
    for await (const chunk of await chat.sendMessageStream({ message: 'Thanks' })) text += chunk.text ?? ''
    expect(text).toContain('“Thanks”')
  })

  it('receives calls according to its tool mode', async () => {
    const call = async (mode: FunctionCallingConfigMode, allowedFunctionNames?: string[]) => {
      const functionCallingConfig = { mode, ...(allowedFunctionNames ? { allowedFunctionNames } : {}) }
      const config = { tools, toolConfig: { functionCallingConfig } }
      const answer = await client.models.generateContent({ model, contents: 'get weather in Rome', config })
      return answer.functionCalls?.length ?? 0
    }
    expect(await call(FunctionCallingConfigMode.NONE)).toBe(0)
    expect(await call(FunctionCallingConfigMode.AUTO)).toBe(1)
    expect(await call(FunctionCallingConfigMode.ANY, ['get_weather'])).toBe(1)
    await expect(call(FunctionCallingConfigMode.ANY, ['other'])).rejects.toMatchObject({ status: 400 })
  })

  it('receives structured output for both kinds of schema', async () => {
    const { parameters } = declaration
    const lower = { type: 'object', properties: { city: { type: 'string' } } }
    for (const shape of [{ responseSchema: parameters }, { responseJsonSchema: lower }]) {
      const config = { responseMimeType: 'application/json', ...shape }
      const answer = await client.models.generateContent({ model, contents: 'Where is Oslo?', config })
      expect(JSON.parse(answer.text ?? '')).toEqual({ city: 'Oslo' })
    }
  })

  it('receives descriptions of media, including those in a tool result', async () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
    const pdf = { inlineData: { mimeType: 'application/pdf', data: 'AAAAAAAA' } }
    const sound = { fileData: { mimeType: 'audio/mp3', fileUri: 'gs://bucket/a.mp3' } }
    const answer = await client.models.generateContent({ model, contents: [image, pdf, sound] })
    expect(answer.text).toContain(
      'the image (image/png, 3 bytes) and the document (application/pdf, 6 bytes) and the audio (audio/mp3, at gs://bucket/a.mp3)',
    )
    const call = { functionCall: { name: 'look', args: {} } }
    const functionResponse = { name: 'look', response: {}, parts: [image] }
    const contents = [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: [call] },
      { role: 'user', parts: [{ functionResponse }] },
    ]
    expect((await client.models.generateContent({ model, contents })).text).toBe('look answered: {}.')
  })

  it('receives blocked prompts, stop sequences and limits', async () => {
    for (const refused of [
      await client.models.generateContent({ model, contents: '[[refuse]]' }),
      (await streamed('[[refuse]]')).last,
    ]) {
      expect(refused?.promptFeedback).toMatchObject({ blockReason: 'PROHIBITED_CONTENT' })
      expect(refused?.candidates).toBeUndefined()
    }
    const cut = await client.models.generateContent({
      model,
      contents: '[[words:50]]',
      config: { maxOutputTokens: 3 },
    })
    expect(cut.candidates?.[0]?.finishReason).toBe('MAX_TOKENS')
    expect(cut.usageMetadata?.candidatesTokenCount).toBe(3)
    const config = { stopSequences: [' brown'], candidateCount: 2 }
    const stopped = await client.models.generateContent({ model, contents: '[[words:50]]', config })
    expect(stopped.candidates?.map((one) => one.content?.parts?.[0]?.text)).toEqual(['the quick', 'the quick'])
  })

  it('lists models page by page', async () => {
    const many = createFakeProvider({ models: ['a', 'b', 'c'] })
    const httpOptions = { baseUrl: 'http://fake.test', fetch: many.fetch as typeof fetch }
    const reader = new GoogleGenAI({ apiKey: 'any', httpOptions })
    const names: unknown[] = []
    for await (const { name } of await reader.models.list({ config: { pageSize: 2 } })) names.push(name)
    expect(names).toEqual(['models/a', 'models/b', 'models/c'])
    expect(many.requests).toHaveLength(2)
  })

  it('counts tokens, lists models, and accepts names with slashes', async () => {
    const counted = await client.models.countTokens({ model, contents: 'one two' })
    expect(counted.totalTokens).toBe(5)
    const names: (string | undefined)[] = []
    for await (const one of await client.models.list()) names.push(one.name)
    expect(names).toEqual(['models/demo-gemini', 'models/team/own-model'])
    expect((await client.models.get({ model })).name).toBe('models/demo-gemini')
    const answer = await client.models.generateContent({ model: 'models/team/own-model', contents: 'Hi' })
    expect(answer.modelVersion).toBe('team/own-model')
    expect(provider.requests.at(-1)?.path).toBe('/v1beta/models/team/own-model:generateContent')
  })

  it('receives counts of cached and thinking tokens', async () => {
    const config = { systemInstruction: 'word '.repeat(100), thinkingConfig: { thinkingBudget: 512 } }
    const usage = async () =>
      (await client.models.generateContent({ model, contents: '[[say:one two]]', config })).usageMetadata
    expect(await usage()).not.toHaveProperty('cachedContentTokenCount')
    expect(await usage()).toMatchObject({
      promptTokenCount: 109,
      cachedContentTokenCount: 104,
      candidatesTokenCount: 2,
      thoughtsTokenCount: expect.any(Number),
    })
  })

  it('throws its own error with Google’s status', async () => {
    provider.reply({ status: 429, headers: { 'retry-after': '0' } })
    const failure = await client.models.generateContent({ model, contents: 'x' }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ApiError)
    expect(failure).toMatchObject({ status: 429, message: expect.stringContaining('RESOURCE_EXHAUSTED') })
    const wrong = new GoogleGenAI({ apiKey: 'bad-key', httpOptions: { baseUrl: server.origin } })
    await expect(wrong.models.generateContent({ model, contents: 'x' })).rejects.toThrow(/API_KEY_INVALID/)
    await expect(client.models.generateContent({ model: 'gemini-x', contents: 'x' })).rejects.toThrow(
      /models\/gemini-x is not found for API version v1beta/,
    )
  })

  it('reports a failed stream and a truncated one', async () => {
    // The client detects a bare error only if it arrives in a separate chunk.
    await expect(streamed('[[error-event:UNAVAILABLE after:3]] [[slow:20]] hello')).rejects.toThrow(/overloaded/)
    await expect(streamed('[[cut-event after:3]] hello')).rejects.toThrow(/Incomplete JSON segment/)
    await expect(streamed('[[reset after:3]] hello')).rejects.toThrow()
  })
})
