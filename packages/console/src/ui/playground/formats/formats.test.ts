import { anthropic, createGateway, gemini as geminiUpstream, openai } from '@modelgate/core'
import { createFakeProvider, type Script } from '@modelgate/testing'
import { describe, expect, it } from 'vitest'
import { foldPieces } from '../call/fold-response.ts'
import { send } from '../call/send.ts'
import { buildRequest } from './build-request.ts'
import type { Exchange, Format, Settings, ToolCall, Turn } from './format.ts'
import { formatNamed, formats } from './index.ts'

const provider = createFakeProvider({ apiKey: 'sk-upstream-1', chatReasoning: 'reasoning_content' })
const upstream = { apiKey: 'sk-upstream-1', baseURL: 'http://provider.test/v1' }
const gateway = createGateway({
  auth: (token) => (token === 'right' ? { id: 'me' } : null),
  upstreams: {
    chat: openai({ ...upstream, formats: ['chat'] }),
    messages: anthropic({ ...upstream, baseURL: 'http://provider.test' }),
    gemini: geminiUpstream({ ...upstream, baseURL: 'http://provider.test' }),
    responses: openai({ ...upstream, formats: ['responses'] }),
  },
  models: { 'by/chat': 'chat', 'by/messages': 'messages', 'by/gemini': 'gemini', 'by/responses': 'responses' },
  fetch: provider.fetch,
  logger: false,
})

const settings: Settings = {
  model: 'by/chat',
  system: '',
  temperature: undefined,
  maxTokens: undefined,
  stream: true,
  tools: [],
}
const weather = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const question = (text: string): Turn => ({ role: 'user', text, images: [] })
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function ask(
  format: Format,
  own: Partial<Settings>,
  turns: readonly Turn[],
  script?: Script,
  token = 'right',
): Promise<Exchange & ReturnType<typeof foldPieces>> {
  provider.reset()
  if (script !== undefined) provider.reply(script)
  const exchange = await send({
    format,
    request: format.build(turns, { ...settings, ...own }),
    gateway: 'http://gateway.test',
    token,
    signal: new AbortController().signal,
    onProgress() {},
    fetch: (input, init) => gateway.fetch(new Request(input, init)),
  })
  return { ...exchange, ...foldPieces(exchange.pieces) }
}

describe.each(formats.map((format) => [format.name, format] as const))('%s', (_, format) => {
  const model = `by/${format.id}`

  describe.each([
    ['streamed', true],
    ['whole', false],
  ])('%s', (_how, stream) => {
    it('reads text, usage and finish reason', async () => {
      const { answer, usage, finish, error, outcome, events } = await ask(format, { model, stream }, [question('Hi')], {
        text: 'Hello, how are you?',
        usage: { input: 100, output: 7, cacheRead: 60 },
      })
      expect(error).toBeUndefined()
      expect(answer).toEqual({ role: 'assistant', text: 'Hello, how are you?', reasoning: '', toolCalls: [] })
      expect(usage).toMatchObject({ input: 100, cached: 60 })
      expect(usage?.output).toBeGreaterThan(3)
      expect(finish).toMatch(/^(stop|end_turn|STOP|completed)$/)
      expect(outcome).toBe('finished')
      expect(events.length > 1).toBe(stream)
    })

    it('reads reasoning separately from the text', async () => {
      // A chat upstream shows reasoning only in a field of its own, which OpenAI's API lacks.
      const { answer } = await ask(format, { model: 'by/messages', stream }, [question('Hi')], {
        thinking: 'Let me think.',
        text: 'Done.',
      })
      expect(answer.text).toBe('Done.')
      expect(answer.reasoning).toBe('Let me think.')
    })

    it('reads several tool calls separately', async () => {
      const { answer, finish } = await ask(format, { model, stream, tools: [weather] }, [question('Hi')], {
        toolCalls: [
          { name: 'get_weather', input: { city: 'Rome' } },
          { name: 'get_weather', input: { city: 'Oslo' } },
        ],
      })
      expect(answer.toolCalls.map(({ name, input }) => [name, JSON.parse(input)])).toEqual([
        ['get_weather', { city: 'Rome' }],
        ['get_weather', { city: 'Oslo' }],
      ])
      expect(finish).toBeDefined()
    })

    it.each(formats.map(({ id }) => id))('continues with the results of tool calls, upstream %s', async (upstream) => {
      const own = { model: `by/${upstream}`, stream, tools: [weather] }
      const first = question('Hi')
      const { answer } = await ask(format, own, [first], {
        thinking: 'Let me look.',
        toolCalls: [
          { name: 'get_weather', input: { city: 'Rome' } },
          { name: 'get_weather', input: { city: 'Oslo' } },
        ],
      })
      const [rome, oslo] = answer.toolCalls as [ToolCall, ToolCall]
      const results: Turn = {
        role: 'user',
        text: '',
        images: [],
        results: [
          { call: rome, content: 'sunny', failed: false },
          { call: oslo, content: 'no station', failed: true },
        ],
      }
      const last = await ask(format, own, [first, answer, results])
      expect(last.error).toBeUndefined()
      expect(last.answer.text).toContain('sunny')
      expect(last.answer.text).toContain('no station')
    })

    it('reads a refusal as text', async () => {
      const { answer, finish } = await ask(format, { model, stream }, [question('Hi')], { refusal: 'I will not.' })
      // generateContent blocks the prompt without further text.
      expect(answer.text === 'I will not.' || (finish ?? '') === 'SAFETY' || /PROHIB|SAFETY/.test(finish ?? '')).toBe(
        true,
      )
    })

    it("returns the upstream's error as the API does", async () => {
      const { error, outcome, status } = await ask(format, { model, stream }, [question('Hi')], {
        status: 400,
        error: { message: 'The moon is full.' },
      })
      expect(error?.message).toContain('The moon is full.')
      expect(JSON.stringify(error?.body)).toContain('The moon is full.')
      expect([outcome, status]).toEqual(['failed', 400])
    })

    it('sends only the settings that were set', () => {
      const { body } = format.build([question('Hi')], { ...settings, stream })
      const text = JSON.stringify(body)
      expect(text).not.toMatch(/temperature|system|instructions|tools|generationConfig/)
      expect(/max\w*tokens/i.test(text)).toBe(format.id === 'messages')
    })

    it('sends every setting, and the upstream accepts them', async () => {
      const own = { model, stream, system: 'Be kind.', temperature: 0.25, maxTokens: 77, tools: [weather] }
      const image = { name: 'dot.png', type: 'image/png', data: pixel }
      const turns: Turn[] = [
        question('First'),
        { role: 'assistant', text: 'Yes?', reasoning: 'Hm', toolCalls: [] },
        { role: 'user', text: 'What is it', images: [image] },
      ]
      const { answer, error, status } = await ask(format, own, turns)
      expect(error).toBeUndefined()
      expect(status).toBe(200)
      expect(answer.text).toContain('image/png')
      const sent = provider.requests.at(-1)?.bodyText ?? ''
      for (const part of ['Be kind.', '0.25', '77', 'get_weather', 'First', 'Yes?', 'What is it', pixel])
        expect(sent).toContain(part)
    })
  })

  it('returns an error in the middle of a stream after the text before it', async () => {
    const { answer, error, outcome } = await ask(format, { model }, [question('Hi')], {
      text: 'One two three four five six seven eight nine ten',
      fault: { type: 'error-event', after: 6, message: 'Out of breath.' },
    })
    expect(answer.text).toMatch(/^One/)
    expect(error?.message).toContain('Out of breath.')
    expect(outcome).toBe('failed')
  })

  it('returns an error for a truncated stream', async () => {
    const { error, outcome } = await ask(format, { model }, [question('Hi')], {
      text: 'One two three four five six seven eight nine ten',
      fault: { type: 'cut', after: 6 },
    })
    expect(error?.message).toMatch(/before (it was complete|the end of its response)/)
    expect(outcome).toBe('failed')
  })

  it('sends the token as its clients do', async () => {
    expect((await ask(format, { model }, [question('Hi')])).status).toBe(200)
    const { status, error } = await ask(format, { model }, [question('Hi')], undefined, 'wrong')
    // Google returns 400 for an invalid key.
    expect(status).toBe(format.id === 'gemini' ? 400 : 401)
    expect(error?.message).toMatch(/token|key|credential/i)
  })

  it('reads nothing from invalid events', () => {
    for (const data of ['', '[DONE]', '{', '[]', 'null', '{"choices":3,"type":[],"candidates":{"a":1}}'])
      expect(format.readEvent({ data })).toEqual([])
  })
})

describe('the settings that few requests need', () => {
  const schema = { type: 'object' }
  const settings: Settings = {
    model: 'm',
    system: '',
    temperature: undefined,
    maxTokens: undefined,
    stream: false,
    tools: [],
    topP: 0.9,
    stop: ['END'],
    seed: 7,
    effort: 'low',
    schema,
    extra: { metadata: { team: 'a' }, generationConfig: { topK: 3 }, max_tokens: 5 },
  }
  it.each([
    [
      'chat',
      { top_p: 0.9, stop: ['END'], seed: 7, reasoning_effort: 'low' },
      { response_format: { type: 'json_schema', json_schema: { name: 'response', schema } } },
    ],
    [
      'messages',
      { top_p: 0.9, stop_sequences: ['END'], max_tokens: 5 },
      { output_config: { effort: 'low', format: { type: 'json_schema', schema } } },
    ],
    [
      'gemini',
      {
        generationConfig: {
          topP: 0.9,
          stopSequences: ['END'],
          seed: 7,
          thinkingConfig: { thinkingLevel: 'low' },
          responseMimeType: 'application/json',
          responseJsonSchema: schema,
          topK: 3,
        },
      },
      {},
    ],
    [
      'responses',
      { top_p: 0.9, reasoning: { effort: 'low' } },
      { text: { format: { type: 'json_schema', name: 'response', schema } } },
    ],
  ])('are fields of %s, and extra JSON is merged into its body', (id, fields, others) => {
    const format = formatNamed(id)
    const { body } = buildRequest(format, [{ role: 'user', text: 'Hi', images: [] }], settings)
    expect(body).toMatchObject({ ...fields, ...others, metadata: { team: 'a' } })
    for (const name of format.lacks) expect(Object.keys(body)).not.toContain(name)
  })
})
