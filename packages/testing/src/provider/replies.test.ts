import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../index.ts'
import { call, chatBody, eventsOf, formats, requestTo } from './requests.test-support.ts'

const textOf = async (response: Response): Promise<string> => {
  const body = await response.json()
  return body.choices?.[0].message.content ?? body.content[0].text
}

describe('scripted replies', () => {
  it('are taken from the queue first, then from the latest match, then from the demo model', async () => {
    const provider = createFakeProvider()
    const undo = provider.on({ model: 'demo-chat' }, { text: 'standing' })
    provider.on(
      (request) => request.bodyText.includes('special'),
      (request) => ({ text: `for ${request.path}` }),
    )
    provider.reply({ text: 'first' }, { text: 'second' })
    const texts = []
    for (const text of ['a', 'b', 'c', 'special']) texts.push(await textOf(await call(provider, 'chat', text)))
    undo()
    texts.push(await textOf(await call(provider, 'chat', '[[say:demo]]')))
    expect(texts).toEqual(['first', 'second', 'standing', 'for /v1/chat/completions', 'demo'])
    provider.reset()
    expect(provider.requests).toEqual([])
    expect(await textOf(await call(provider, 'chat', 'special'))).toContain('You said')
  })

  it('are rendered in the requested format', async () => {
    const provider = createFakeProvider()
    provider.on(
      {},
      {
        thinking: { text: 'hm', signature: 'EsigX' },
        text: 'one',
        toolCalls: [{ name: 'f', id: 'id_1', input: { a: 1 } }],
        usage: { input: 7, output: 9 },
        model: 'other',
      },
    )
    expect(await (await call(provider, 'chat', 'x')).json()).toMatchObject({
      model: 'other',
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: 'one',
            reasoning_content: 'hm',
            tool_calls: [{ id: 'id_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          },
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 9 },
    })
    const wanted = await (await call(provider, 'gemini', 'x')).json()
    expect(wanted).toMatchObject({
      modelVersion: 'other',
      candidates: [
        {
          finishReason: 'STOP',
          content: {
            role: 'model',
            parts: [
              { text: 'hm', thought: true },
              { text: 'one' },
              { functionCall: { name: 'f', id: 'id_1', args: { a: 1 } }, thoughtSignature: 'EsigX' },
            ],
          },
        },
      ],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 8, thoughtsTokenCount: 1, totalTokenCount: 16 },
    })
    const include = ['reasoning.encrypted_content']
    expect(await (await call(provider, 'responses', 'x', { include })).json()).toMatchObject({
      model: 'other',
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'EsigX' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'one', annotations: [] }] },
        { type: 'function_call', call_id: 'id_1', name: 'f', arguments: '{"a":1}', status: 'completed' },
      ],
      usage: { input_tokens: 7, output_tokens: 9, total_tokens: 16 },
    })
    expect(await (await call(provider, 'messages', 'x')).json()).toMatchObject({
      model: 'other',
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'EsigX' },
        { type: 'text', text: 'one' },
        { type: 'tool_use', id: 'id_1', name: 'f', input: { a: 1 } },
      ],
      usage: { input_tokens: 7, output_tokens: 9 },
    })
  })

  it('make the signature of a script valid in the next turn', async () => {
    const provider = createFakeProvider()
    provider.reply({ thinking: { text: 'hm', signature: 'mine' }, text: 'a' })
    await call(provider, 'messages', 'x')
    const messages = [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'mine' },
          { type: 'text', text: 'a' },
        ],
      },
      { role: 'user', content: 'y' },
    ]
    expect((await call(provider, 'messages', '', { messages })).status).toBe(200)
  })

  it.each([
    ['length', 'length', 'max_tokens', 'MAX_TOKENS', 'incomplete', 'max_output_tokens'],
    ['stop-sequence', 'stop', 'stop_sequence', 'STOP', 'completed', undefined],
    ['content-filter', 'content_filter', 'refusal', 'SAFETY', 'incomplete', 'content_filter'],
    ['pause', 'stop', 'pause_turn', 'STOP', 'completed', undefined],
    ['made_up', 'made_up', 'made_up', 'made_up', 'made_up', undefined],
  ])('with the finish %s become %s, %s, %s and %s', async (finish, chat, messages, gemini, responses, reason) => {
    const provider = createFakeProvider()
    provider.on({}, { text: 'x', finish })
    const response = await (await call(provider, 'responses', 'x')).json()
    expect(response.status).toBe(responses)
    expect(response.incomplete_details?.reason).toBe(reason)
    expect((await (await call(provider, 'gemini', 'x')).json()).candidates[0].finishReason).toBe(gemini)
    expect((await (await call(provider, 'chat', 'x')).json()).choices[0].finish_reason).toBe(chat)
    expect((await (await call(provider, 'messages', 'x')).json()).stop_reason).toBe(messages)
  })

  it.each(formats)('in the %s format have its own error body for an error status', async (format) => {
    const provider = createFakeProvider()
    provider.reply({ status: 429, headers: { 'retry-after': '7' }, error: { message: 'slow down' } })
    const response = await call(provider, format, 'x')
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('7')
    const openai = { message: 'slow down', type: 'requests', code: 'rate_limit_exceeded', param: null }
    const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }
    const details = expect.arrayContaining([retry])
    expect((await response.json()).error).toEqual(
      {
        chat: openai,
        responses: openai,
        messages: { message: 'slow down', type: 'rate_limit_error' },
        gemini: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', details },
      }[format],
    )
  })

  it('with raw events and bodies are sent unchanged', async () => {
    const provider = createFakeProvider()
    provider.reply({ events: [{ event: 'odd', data: { a: 1 } }, { data: '[DONE]' }] }, { body: null })
    expect(await (await call(provider, 'chat', 'x', { stream: true })).text()).toBe(
      'event: odd\ndata: {"a":1}\n\ndata: [DONE]\n\n',
    )
    expect(await (await call(provider, 'chat', 'x')).text()).toBe('null')
  })
})

describe('raw replies', () => {
  const bytes = new Uint8Array([100, 97, 116, 97, 58, 32, 255, 0, 10, 10, 58, 120, 10, 10])

  it.each([
    ['in one chunk', undefined, 1],
    ['byte by byte', 'bytes' as const, 14],
    ['in chunks of five', 5, 3],
    ['split at positions', [3, 4, 99], 3],
  ])('are sent unchanged: %s', async (_name, chunks, count) => {
    const provider = createFakeProvider()
    provider.reply({
      raw: { body: bytes, headers: { 'x-request-id': 'req_rec' }, ...(chunks === undefined ? {} : { chunks }) },
    })
    // Invalid on purpose: a raw reply is sent for any request.
    const response = await provider.fetch(requestTo('/v1/messages', { anything: true }))
    expect(response.headers.get('x-request-id')).toBe('req_rec')
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const parts: Uint8Array[] = []
    for await (const part of response.body ?? []) parts.push(part)
    expect(parts).toHaveLength(count)
    expect(parts.flatMap((part) => [...part])).toEqual([...bytes])
    expect(provider.stats.finished).toBe(1)
  })

  it('are cut at events for faults', async () => {
    const provider = createFakeProvider()
    provider.reply({ raw: { body: 'data: 1\r\n\r\ndata: 2\n\ndata: 3\n\n' }, fault: { type: 'cut', after: 2 } })
    expect(await (await call(provider, 'chat', 'x')).text()).toBe('data: 1\r\n\r\ndata: 2\n\n')
  })
})

it('records incoming requests', async () => {
  const provider = createFakeProvider()
  const body = ' {"model":"demo-chat", "big": 12345678901234567890} '
  await provider.fetch(requestTo('/v1/chat/completions?beta=true', body, { 'X-Mine': 'yes' }))
  expect(provider.requests[0]).toMatchObject({
    method: 'POST',
    path: '/v1/chat/completions',
    query: 'beta=true',
    bodyText: body,
    format: 'chat',
    model: 'demo-chat',
    stream: false,
    status: 400,
    finished: true,
    aborted: false,
  })
  expect(provider.requests[0]?.headers['x-mine']).toBe('yes')
})

it('matches models and streams named by the path', async () => {
  const provider = createFakeProvider()
  provider.on({ format: 'gemini', model: 'demo-gemini', stream: true }, { text: 'streamed' })
  expect(await (await call(provider, 'gemini', '[[say:whole]]')).text()).toContain('"whole"')
  expect(await (await call(provider, 'gemini', '[[say:whole]]', { stream: true })).text()).toContain('"streamed"')
  expect(provider.requests.map(({ model, stream }) => [model, stream])).toEqual([
    ['demo-gemini', false],
    ['demo-gemini', true],
  ])
})

it('replaces the demo model by a custom brain', async () => {
  const provider = createFakeProvider({ brain: (prompt) => ({ text: `${prompt.turns.length} ${prompt.system}` }) })
  const messages = [{ role: 'developer', content: 'S' }, ...(chatBody('x').messages as [])]
  expect(await textOf(await call(provider, 'chat', '', { messages }))).toBe('1 S')
})

it('applies the pace between words only', async () => {
  const provider = createFakeProvider({ paceMs: 15 })
  const started = performance.now()
  const text = await (await call(provider, 'messages', '[[say:one two three four]]', { stream: true })).text()
  expect(eventsOf(text).length).toBeGreaterThan(8)
  const took = performance.now() - started
  expect(took).toBeGreaterThan(50)
  expect(took).toBeLessThan(500)
})
