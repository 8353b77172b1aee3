import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ModelEvent, Part } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import type { Quirks } from '../target-traits.ts'
import { chatCodec } from './codec.ts'
import { run, testContext } from './context.test-support.ts'

const frame = { id: 'c', object: 'chat.completion.chunk', created: 5, model: 'gpt' }
const sse = (value: Json): SseEvent => ({ data: JSON.stringify(value) })
const chunk = (delta: JsonObject, more: JsonObject = {}, top: JsonObject = {}): SseEvent =>
  sse({ ...frame, choices: [{ index: 0, delta, finish_reason: null, ...more }], ...top })
const stop = chunk({}, { finish_reason: 'stop' })
const done: SseEvent = { data: '[DONE]' }
const decode = (events: SseEvent[], quirks: Quirks = {}): ModelEvent[] =>
  run(chatCodec.decodeStream(testContext({ quirks })), events)
const partsOf = (events: SseEvent[]): Part[] | undefined => foldEvents(decode(events)).choices[0]?.parts
const call = (index: number | undefined, id: string | undefined, name: string | undefined, args?: Json): SseEvent =>
  chunk({
    tool_calls: [
      {
        ...(index === undefined ? {} : { index }),
        ...(id === undefined ? {} : { id, type: 'function' }),
        function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
      },
    ],
  })

describe('streams of chat upstreams', () => {
  test('decode to each event once and in order', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
    const events = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hi' }),
      stop,
      sse({ ...frame, choices: [], usage }),
      done,
    ]
    expect(decode(events)).toEqual([
      { type: 'response-start', id: 'c', model: 'gpt', created: 5 },
      { type: 'part-start', choice: 0, part: 0, value: { type: 'text', text: '', at: '/choices/0/message/content' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'text', text: 'Hi' } },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'usage', usage: { input: { total: 1 }, output: { total: 2 }, raw: { format: 'chat', value: usage } } },
      { type: 'choice-end', choice: 0, finish: { reason: 'stop', raw: { format: 'chat', value: 'stop' } } },
      { type: 'response-end' },
    ])
  })

  const called = (id: string, input: string, more: Partial<Part> = {}): Part =>
    ({ type: 'tool-call', id, name: 'f', input, ...more }) as Part
  test.each<[string, SseEvent[], Part[]]>([
    [
      'reasoning, then text',
      [chunk({ reasoning_content: 'r' }), chunk({ content: 'x' })],
      [
        { type: 'reasoning', text: 'r' },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      "Groq's reasoning field",
      [chunk({ reasoning: 'r' }), chunk({ reasoning: 's' })],
      [{ type: 'reasoning', text: 'rs' }],
    ],
    [
      "OpenRouter's reasoning details next to the text, with the signature last",
      [
        chunk({ reasoning: 'r', reasoning_details: [{ type: 'reasoning.text', text: 'r', index: 0 }] }),
        chunk({ reasoning: 's', reasoning_details: [{ type: 'reasoning.text', text: 's', index: 0 }] }),
        chunk({ reasoning_details: [{ type: 'reasoning.text', signature: 'S', index: 0 }] }),
        chunk({ content: 'x' }),
      ],
      [
        { type: 'reasoning', text: 'rs', seal: { issuer: 'chat', data: 'S' } },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'cumulative reasoning details after the text',
      [
        chunk({ reasoning_content: 'r' }),
        chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'r', signature: 'S', index: 0 }] }),
        chunk({
          reasoning_details: [
            { type: 'reasoning.text', text: 'r', signature: 'S', index: 0 },
            { type: 'reasoning.encrypted', data: 'E', index: 1 },
          ],
        }),
      ],
      [
        { type: 'reasoning', text: 'r', seal: { issuer: 'chat', data: 'S' } },
        { type: 'reasoning', text: '', redacted: true, seal: { issuer: 'chat', data: 'E' } },
      ],
    ],
    [
      "Mistral's content lists",
      [chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'r' }] }] }), chunk({ content: 'x' })],
      [
        { type: 'reasoning', text: 'r' },
        { type: 'text', text: 'x' },
      ],
    ],
    ['a refusal', [chunk({ refusal: 'n' }), chunk({ refusal: 'o' })], [{ type: 'refusal', text: 'no' }]],
    [
      'parallel calls',
      [
        call(0, 'a', 'f', ''),
        call(0, undefined, undefined, '{}'),
        call(1, 'b', 'f', ''),
        call(1, undefined, undefined, '{"x":1}'),
      ],
      [called('a', '{}'), called('b', '{"x":1}')],
    ],
    [
      'interleaved calls',
      [
        call(0, 'a', 'f', ''),
        call(1, 'b', 'f', ''),
        call(0, undefined, undefined, '{"x"'),
        call(1, undefined, undefined, '{}'),
        call(0, undefined, undefined, ':1}'),
      ],
      [called('a', '{"x":1}'), called('b', '{}')],
    ],
    [
      'whole calls without index (Mistral)',
      [call(undefined, 'a', 'f', '{}'), call(undefined, 'b', 'f', '{}')],
      [called('a', '{}'), called('b', '{}')],
    ],
    [
      'calls that all have index 0',
      [call(0, 'a', 'f', '{}'), call(0, 'b', 'f', '{}')],
      [called('a', '{}'), called('b', '{}')],
    ],
    [
      'empty ids on later fragments (Alibaba)',
      [call(0, 'a', 'f', ''), call(0, '', undefined, '{}')],
      [called('a', '{}')],
    ],
    ['calls without ids', [call(0, undefined, 'f', '{}')], [called('call_1', '{}')]],
    [
      'the name of a call after its id',
      [call(0, 'a', undefined, ''), call(0, undefined, 'f', '{}')],
      [called('a', '{}')],
    ],
    ['arguments as an object', [call(0, 'a', 'f', { x: 1 })], [called('a', '{"x":1}')]],
    [
      'an old function call',
      [chunk({ function_call: { name: 'f', arguments: '' } }), chunk({ function_call: { arguments: '{}' } })],
      [called('call_1', '{}')],
    ],
    [
      'a custom call',
      [
        chunk({ tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: 'r' } }] }),
        chunk({ tool_calls: [{ index: 0, custom: { input: 'aw' } }] }),
      ],
      [called('a', 'raw', { custom: true } as Partial<Part>)],
    ],
    [
      'a sealed call',
      [
        chunk({
          tool_calls: [
            { index: 0, id: 'a', function: { name: 'f', arguments: '{}' }, extra_content: { seal: 'mgs1.gemini.S' } },
          ],
        }),
      ],
      [called('a', '{}', { seal: { issuer: 'gemini', data: 'S' } } as Partial<Part>)],
    ],
    [
      'text next to a whole message (Perplexity)',
      [chunk({ content: 'x' }, { message: { content: 'x' } }), chunk({ content: 'y' }, { message: { content: 'xy' } })],
      [{ type: 'text', text: 'xy' }],
    ],
    [
      'citations',
      [
        chunk({ content: 'x' }),
        chunk({ annotations: [{ type: 'url_citation', url_citation: { url: 'u', start_index: 0, end_index: 1 } }] }),
      ],
      [{ type: 'text', text: 'x', citations: [{ url: 'u', start: 0, end: 1 }] }],
    ],
  ])('decode to parts with %s', (_, events, parts) => {
    expect(partsOf([...events, stop, done])).toEqual(parts)
  })

  test('decode audio to the deltas of one part', () => {
    const events = decode([
      chunk({ audio: { id: 'audio_1', transcript: 'Hi' } }),
      chunk({ audio: { data: 'AA', transcript: ' you' } }),
      chunk({ audio: { expires_at: 9 } }),
      stop,
      done,
    ])
    expect(events.slice(1, 5)).toEqual([
      {
        type: 'part-start',
        choice: 0,
        part: 0,
        value: {
          type: 'media',
          kind: 'audio',
          source: { type: 'base64', data: '' },
          extra: { chat: { id: 'audio_1', transcript: 'Hi' } },
          at: '/choices/0/message/audio',
        },
      },
      {
        type: 'part-delta',
        choice: 0,
        part: 0,
        delta: { type: 'media', data: 'AA', extra: { chat: { transcript: ' you' } } },
      },
      {
        type: 'part-delta',
        choice: 0,
        part: 0,
        delta: { type: 'media', data: '', extra: { chat: { expires_at: 9 } } },
      },
      { type: 'part-end', choice: 0, part: 0 },
    ])
  })

  test('close a call with complete arguments as soon as the next call starts', () => {
    const events = decode([call(0, 'a', 'f', '{}'), call(1, 'b', 'f', '{}'), stop, done])
    const order = events.flatMap((event) =>
      'part' in event && event.type !== 'part-delta' ? [`${event.type} ${event.part}`] : [],
    )
    expect(order).toEqual(['part-start 0', 'part-end 0', 'part-start 1', 'part-end 1'])
  })

  test('start at the first chunk with a choice (Azure)', () => {
    const [first] = decode([
      sse({ id: '', model: '', created: 0, choices: [], prompt_filter_results: [{ a: 1 }] }),
      chunk({ content: 'x' }),
      stop,
      done,
    ])
    expect(first).toMatchObject({
      type: 'response-start',
      id: 'c',
      extra: { chat: { prompt_filter_results: [{ a: 1 }] } },
    })
  })

  test('keep several choices separate', () => {
    const of = (index: number, content: string): SseEvent =>
      sse({ ...frame, choices: [{ index, delta: { content }, finish_reason: null }] })
    const end = (index: number): SseEvent => sse({ ...frame, choices: [{ index, delta: {}, finish_reason: 'stop' }] })
    const folded = foldEvents(decode([of(0, 'a'), of(1, 'b'), of(0, 'c'), end(1), end(0), done]))
    expect(folded.choices.map(({ parts }) => parts)).toEqual([
      [{ type: 'text', text: 'ac' }],
      [{ type: 'text', text: 'b' }],
    ])
  })

  test('keep log probabilities with their text delta', () => {
    const logprobs = { content: [{ token: 'x', logprob: -1 }], refusal: null }
    expect(decode([chunk({ content: 'x' }, { logprobs }), stop, done])[2]).toMatchObject({
      delta: { text: 'x', logprobs },
    })
  })

  test('end a choice once if the finish reason is repeated (OpenRouter)', () => {
    const events = decode([chunk({ content: 'x' }), stop, stop, done])
    expect(events.filter(({ type }) => type === 'choice-end')).toHaveLength(1)
  })

  test.each<[string, SseEvent[], Quirks, string]>([
    ['no [DONE]', [chunk({ content: 'x' }), stop], {}, 'upstream_truncated'],
    ['no events', [], {}, 'upstream_truncated'],
    [
      'no finish reason and an optional [DONE]',
      [chunk({ content: 'x' })],
      { doneOptional: true },
      'upstream_truncated',
    ],
    ['[DONE] alone', [done], {}, 'upstream_bad_response'],
    ['invalid JSON', [chunk({ content: 'x' }), { data: '{"id":' }], {}, 'upstream_bad_response'],
    ['a number', [{ data: '5' }], {}, 'upstream_bad_response'],
    ['an error chunk', [chunk({ content: 'x' }), sse({ error: { message: 'no', code: 429 } })], {}, 'rate_limited'],
    [
      'an error next to choices',
      [chunk({ content: 'x' }, {}, { error: { code: 400, message: 'Token limit reached' } })],
      {},
      'invalid_request',
    ],
    [
      'an error event',
      [{ event: 'error', data: '{"error":{"message":"no","type":"invalid_request_error","status_code":400}}' }],
      {},
      'invalid_request',
    ],
    ['the finish reason error', [chunk({}, { finish_reason: 'error' })], {}, 'upstream_error'],
  ])('with %s end with exactly one error', (_, events, quirks, kind) => {
    const out = decode([...events], quirks)
    expect(out.filter(({ type }) => type === 'error' || type === 'response-end')).toHaveLength(1)
    expect(out.at(-1)).toMatchObject({ type: 'error', error: { kind } })
    const machine = chatCodec.decodeStream(testContext({ quirks }))
    run(machine, events)
    expect(machine.push(chunk({ content: 'late' }))).toEqual([])
  })

  test('end normally without [DONE] if the upstream is known to omit it', () => {
    expect(decode([chunk({ content: 'x' }), stop], { doneOptional: true }).at(-1)).toEqual({ type: 'response-end' })
  })

  test("report a vendor's fields of the choice and its message at the end of the choice", () => {
    const filter = { hate: { filtered: false } }
    const events = decode([
      chunk({ content: 'a', channel: 'final' }, { content_filter_results: filter, native_finish_reason: null }),
      chunk({}, { finish_reason: 'stop', native_finish_reason: 'end_turn' }),
      done,
    ])
    expect(events.at(-2)).toMatchObject({
      type: 'choice-end',
      extra: {
        chat: { content_filter_results: filter, native_finish_reason: 'end_turn', message: { channel: 'final' } },
      },
    })
  })

  test("report a vendor's fields next to the choices once and again when they change", () => {
    const events = decode([
      chunk({ content: 'a' }, {}, { citations: ['u'] }),
      chunk({ content: 'b' }, {}, { citations: ['u'] }),
      chunk({ content: 'c' }, {}, { citations: ['u', 'v'] }),
      stop,
      done,
    ])
    expect(events[0]).toMatchObject({ extra: { chat: { citations: ['u'] } } })
    expect(events.filter(({ type }) => type === 'native')).toEqual([
      { type: 'native', format: 'chat', value: { citations: ['u', 'v'] } },
    ])
  })
})
