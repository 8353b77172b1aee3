import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { chatCodec } from './codec.ts'

const target = { model: 'm', quirks: {} }
const chunk = (fields: JsonObject): { data: string } => ({
  data: JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 5, model: 'gpt', ...fields }),
})
const text = (content: string, more: JsonObject = {}): JsonObject => ({
  choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }],
})
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const done = { data: '[DONE]' }
const tapOf = (withholdUsage = true, quirks = {}) =>
  chatCodec.tapStream({ withholdUsage, target: { model: 'm', quirks } })

describe('the edit of a streaming request', () => {
  test.each([
    ['requests usage', { stream: true }, { include_usage: true }],
    [
      'keeps the other options',
      { stream: true, stream_options: { include_obfuscation: false } },
      { include_obfuscation: false, include_usage: true },
    ],
    [
      'requests usage even if the client declined it',
      { stream: true, stream_options: { include_usage: false } },
      { include_usage: true },
    ],
    ['treats null options as absent', { stream: true, stream_options: null }, { include_usage: true }],
  ] as const)('%s', (_, body, stream_options) => {
    expect(chatCodec.wireEdit(structuredClone(body) as JsonObject, target)).toEqual({
      set: { stream_options },
      erase: ',"usage":null',
    })
  })

  test.each([
    ['the response is not streamed', { stream: false }, {}],
    ['the client requested usage itself', { stream: true, stream_options: { include_usage: true } }, {}],
    ['the upstream does not support the option', { stream: true }, { streamOptions: false }],
  ] as const)('is empty if %s', async (_, body, quirks) => {
    await chatCodec.prepareWireEdit?.({ model: 'm', quirks })
    expect(chatCodec.wireEdit(structuredClone(body) as JsonObject, { model: 'm', quirks })).toBeUndefined()
  })
})

describe('the tap of a stream', () => {
  test('withholds only the chunk that holds nothing but usage', () => {
    const tap = tapOf()
    const events = [chunk(text('a')), chunk(text('', { finish_reason: 'stop' })), chunk({ choices: [], usage }), done]
    expect(events.map((event) => tap.push(event))).toEqual([true, true, false, true])
    expect(tap).toMatchObject({ started: true, ended: true, finish: 'stop', error: undefined })
    expect(tap.usage).toMatchObject({ input: { total: 3 }, output: { total: 2 } })
  })

  test.each([
    ['usage next to the last choice (Mistral)', [chunk({ ...text('a', { finish_reason: 'stop' }), usage })]],
    ['usage in every chunk (Perplexity)', [chunk({ ...text('a'), usage }), chunk({ ...text('b'), usage })]],
    ['usage within the choice (Moonshot)', [chunk(text('a', { usage }))]],
    ['usage in a vendor field (Groq)', [chunk({ ...text('a'), x_groq: { usage } })]],
  ])('forwards %s', (_, events) => {
    const tap = tapOf()
    for (const event of events) expect(tap.push(event)).toBe(true)
    expect(tap.usage?.output.total).toBe(2)
  })

  test('forwards the usage chunk that the client requested', () => {
    const tap = tapOf(false)
    expect(tap.push(chunk({ choices: [], usage }))).toBe(true)
    expect(tap.usage?.input.total).toBe(3)
  })

  test('reports the start at the first choice', () => {
    const tap = tapOf()
    tap.push({ data: JSON.stringify({ id: '', choices: [], prompt_filter_results: [] }) })
    expect(tap.started).toBe(false)
    tap.push(chunk(text('')))
    expect(tap.started).toBe(true)
  })

  test('ignores text that looks like usage, errors or finish reasons', () => {
    const tap = tapOf()
    tap.push(chunk(text('a')))
    expect(tap.push(chunk(text('"usage":{"prompt_tokens":1} "error" "finish_reason":"stop"')))).toBe(true)
    expect(tap).toMatchObject({ usage: undefined, error: undefined, finish: undefined })
  })

  test('reads usage from JSON with spaces, as Python writes it', () => {
    const tap = tapOf()
    tap.push(chunk(text('a')))
    tap.push({ data: '{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}}' })
    expect(tap.usage?.input.total).toBe(7)
  })

  test.each([
    ['a chunk that holds an error', { data: '{"error":{"message":"no","code":429}}' }],
    ['an event named error', { event: 'error', data: '{"error":{"message":"no","code":429}}' }],
  ])('reports an error from %s', (_, event) => {
    const tap = tapOf()
    tap.push(chunk(text('a')))
    tap.push(event)
    expect(tap.error).toMatchObject({ kind: 'rate_limited', message: 'no' })
    expect(tap.ended).toBe(false)
  })

  test('ends with the last finish reason if the upstream may omit [DONE]', () => {
    const tap = tapOf(true, { doneOptional: true })
    const finish = (index: number): JsonObject => ({ choices: [{ index, delta: {}, finish_reason: 'stop' }] })
    tap.push(chunk({ choices: [{ index: 0, delta: { content: 'a' } }] }))
    tap.push(chunk({ choices: [{ index: 1, delta: { content: 'b' } }] }))
    tap.push(chunk(finish(0)))
    expect(tap.ended).toBe(false)
    tap.push(chunk(finish(1)))
    expect(tap.ended).toBe(true)
  })

  test('sends a comment as the first heartbeat, then empty chunks of the same response', () => {
    const tap = tapOf()
    expect(tap.heartbeat()).toEqual([{ event: ':', data: 'keep-alive' }])
    tap.push(chunk(text('a')))
    expect(tap.heartbeat().map(({ data }) => JSON.parse(data))).toEqual([
      {
        id: 'c1',
        object: 'chat.completion.chunk',
        created: 5,
        model: 'gpt',
        choices: [{ index: 0, delta: {}, finish_reason: null }],
        system_fingerprint: null,
      },
    ])
  })

  test('withholds the [DONE] of a truncated response because clients ignore an error after it', () => {
    const tap = tapOf()
    expect(tap.push(chunk(text('a')))).toBe(true)
    expect([tap.push(done), tap.ended]).toEqual([false, false])
    tap.push(chunk(text('', { finish_reason: 'stop' })))
    expect([tap.push(done), tap.ended]).toEqual([true, true])
  })

  test('throws for a chunk that is not valid JSON', () => {
    const broken = `${chunk(text('a')).data}\n${JSON.stringify({ error: { message: 'x' } })}`
    const tap = tapOf()
    tap.push(chunk(text('a')))
    expect(() => tap.push({ data: broken })).toThrow('not JSON')
  })

  test('sends a failure as a chat error without [DONE]', () => {
    const events = tapOf().fail({ kind: 'upstream_truncated', status: 502, message: 'cut' })
    expect(events.map(({ data }) => JSON.parse(data))).toEqual([
      { error: { message: 'cut', type: 'server_error', param: null, code: 'upstream_truncated' } },
    ])
  })
})

test('reads usage and finish reason of a response that is not streamed', () => {
  expect(chatCodec.tapResponse({ choices: [{ finish_reason: 'length' }], usage })).toMatchObject({
    finish: 'length',
    usage: { input: { total: 3 } },
  })
  expect(chatCodec.tapResponse({})).toEqual({})
})
