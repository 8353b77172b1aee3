import { describe, expect, test } from 'vitest'
import type { ErrorInfo } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ModelEvent, ModelRequest, Part, Usage } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { block, ending, ping, sse, start } from './events.test-support.ts'
import { messagesCodec } from './index.ts'
import { contextFor, run, target } from './recorded.test-support.ts'

function decode(events: readonly SseEvent[], request: Partial<ModelRequest> = {}) {
  const context = contextFor({ stream: true, ...request })
  const out = run(messagesCodec.decodeStream({ ...context, target: target() }), events)
  return { out, losses: context.report.losses }
}
const partsOf = (out: readonly ModelEvent[]): Part[] => foldEvents(out).choices[0]?.parts ?? []

describe('decoding of streams', () => {
  test('ignores an event without data, unless its name is error', () => {
    const textBlock = block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'a' })
    const types = (event: SseEvent) =>
      decode([start, event, ...textBlock, ...ending('end_turn')]).out.map(({ type }) => type)
    expect(types({ event: 'ping', data: '' }).at(-1)).toBe('response-end')
    expect(types({ event: 'error', data: '' }).at(-1)).toBe('error')
  })

  test.each<[string, SseEvent[], Part[]]>([
    ['no blocks at all', [], []],
    [
      'a call without arguments',
      block(0, { type: 'tool_use', id: 't', name: 'f', input: {} }, { type: 'input_json_delta', partial_json: '' }),
      [{ type: 'tool-call', id: 't', name: 'f', input: '{}' }],
    ],
    [
      'a call without any delta',
      block(0, { type: 'tool_use', id: 't', name: 'f', input: {} }),
      [{ type: 'tool-call', id: 't', name: 'f', input: '{}' }],
    ],
    [
      'a call whose start contains its input',
      block(0, { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }),
      [{ type: 'tool-call', id: 't', name: 'f', input: '{"a":1}' }],
    ],
    [
      'thinking with a signature and no text',
      block(0, { type: 'thinking', thinking: '', signature: '' }, { type: 'signature_delta', signature: 'sig' }),
      [{ type: 'reasoning', text: '', seal: { issuer: 'messages', data: 'sig' } }],
    ],
    [
      'redacted thinking',
      block(0, { type: 'redacted_thinking', data: 'd' }),
      [{ type: 'reasoning', text: '', redacted: true, seal: { issuer: 'messages', data: 'd' } }],
    ],
    [
      "a server's tool, whole once it is over",
      block(
        0,
        { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"query":' },
        { type: 'input_json_delta', partial_json: '"x"}' },
      ),
      [
        {
          type: 'native',
          format: 'messages',
          value: { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
        },
      ],
    ],
    [
      'a compaction',
      block(0, { type: 'compaction', content: null }, { type: 'compaction_delta', content: 'summary' }),
      [{ type: 'native', format: 'messages', value: { type: 'compaction', content: 'summary' } }],
    ],
    [
      'a block that was never started',
      [sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } })],
      [{ type: 'text', text: 'Hi' }],
    ],
    [
      'a block that was never stopped',
      block(0, { type: 'text', text: 'H' }, { type: 'text_delta', text: 'i' }).slice(0, 2),
      [{ type: 'text', text: 'Hi' }],
    ],
    [
      'pings anywhere',
      [ping, ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hi' }), ping],
      [{ type: 'text', text: 'Hi' }],
    ],
  ])('decodes %s', (_, blocks, parts) => {
    const { out, losses } = decode([start, ...blocks, ...ending('end_turn')])
    expect(partsOf(out)).toEqual(parts)
    expect(out.at(-1)).toEqual({ type: 'response-end' })
    expect(losses).toEqual([])
  })

  test('merges the usage of the start and the end: the last number wins, and a missing one is kept', () => {
    const { out } = decode([start, ...ending('end_turn')])
    const reported = out.flatMap((event) =>
      event.type === 'usage' ? [[event.usage.input.total, event.usage.output.total]] : [],
    )
    expect(reported).toEqual([
      [9, 1],
      [9, 5],
    ])
    expect(out.slice(0, 2).map(({ type }) => type)).toEqual(['response-start', 'usage'])
  })

  test('passes unknown events on', () => {
    const news = sse({ type: 'news', headline: 'x' })
    const odd = block(0, { type: 'text', text: '' }, { type: 'hologram_delta', depth: 3 })
    const { out, losses } = decode([start, news, ...odd, ...ending('end_turn')])
    expect(out).toContainEqual({ type: 'native', format: 'messages', value: { type: 'news', headline: 'x' } })
    expect(losses).toMatchObject([{ kind: 'unknown', severity: 'note' }])
    const sent = run(messagesCodec.encodeStream(contextFor()), out)
    expect(sent).toContainEqual(news)
  })

  test('decodes a call of the function that replaced a custom tool as a call of that tool', () => {
    const tools = { list: [{ type: 'custom' as const, name: 'c' }] }
    const deltas = ['{"inp', 'ut":"a\\nb"}'].map((partial_json) => ({ type: 'input_json_delta', partial_json }))
    const { out } = decode(
      [start, ...block(0, { type: 'tool_use', id: 't', name: 'c', input: {} }, ...deltas), ...ending('tool_use')],
      { tools },
    )
    expect(partsOf(out)).toEqual([{ type: 'tool-call', id: 't', name: 'c', input: 'a\nb', custom: true }])
  })

  test.each<[string, SseEvent[], ErrorInfo['kind']]>([
    ['nothing', [], 'upstream_truncated'],
    [
      'no message_stop',
      [start, ...block(0, { type: 'text', text: 'Hi' }), ...ending('end_turn').slice(0, 1)],
      'upstream_truncated',
    ],
    ['broken JSON', [start, { event: 'content_block_start', data: '{"type":' }], 'upstream_bad_response'],
    ['no object', [start, { event: 'x', data: '[DONE]' }], 'upstream_bad_response'],
    ['another format', [{ data: '{"choices":[]}' }], 'upstream_bad_response'],
    ['a second message_start', [start, start], 'upstream_bad_response'],
    [
      'an error',
      [start, sse({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })],
      'overloaded',
    ],
    [
      'an error of an unknown type',
      [sse({ type: 'error', error: { type: 'new_error', message: 'x' } })],
      'upstream_error',
    ],
    ["another vendor's error", [{ data: '{"error":{"message":"x","type":"rate_limit_error"}}' }], 'rate_limited'],
  ])('ends in one error and nothing after it for %s', (_, events, kind) => {
    const { out } = decode([...events, ...(kind === 'upstream_truncated' ? [] : ending('end_turn'))])
    expect(out.filter(({ type }) => type === 'error')).toHaveLength(1)
    expect(out.at(-1)).toMatchObject({ type: 'error', error: { kind } })
  })
})

const begin: ModelEvent = { type: 'response-start', id: 'chatcmpl-1', model: 'gpt', created: 5 }
const open = (part: number, value: Part, choice = 0): ModelEvent => ({ type: 'part-start', choice, part, value })
const input = (part: number, text: string): ModelEvent => ({
  type: 'part-delta',
  choice: 0,
  part,
  delta: { type: 'input', text },
})
const say = (part: number, text: string): ModelEvent => ({
  type: 'part-delta',
  choice: 0,
  part,
  delta: { type: 'text', text },
})
const shut = (part: number, choice = 0): ModelEvent => ({ type: 'part-end', choice, part })
const done: ModelEvent = { type: 'choice-end', choice: 0, finish: { reason: 'stop' } }
const counted: Usage = { input: { total: 7, cacheRead: 3 }, output: { total: 2 } }
const call = (id: string): Part => ({ type: 'tool-call', id, name: 'f', input: '' })

function encode(events: readonly ModelEvent[]) {
  const context = contextFor({ stream: true })
  const sent = run(messagesCodec.encodeStream(context), events)
  return {
    sent: sent.map(({ event, data }) => ({ event, body: JSON.parse(data) as JsonObject })),
    losses: context.report.losses,
  }
}
/** Lists the frame of a stream: `start 0 text`, `delta 0 text_delta`, `stop 0`. */
const frame = (sent: ReturnType<typeof encode>['sent']): string[] =>
  sent.map(({ event = '', body }) => {
    const inner = (body.content_block ?? body.delta ?? {}) as JsonObject
    return [event.replace('content_block_', ''), body.index, inner.type].filter((item) => item !== undefined).join(' ')
  })

describe('encoding of streams', () => {
  test('writes overlapping parts as blocks one after another', () => {
    const { sent } = encode([
      begin,
      open(0, { type: 'text', text: '' }),
      say(0, 'Hi'),
      open(1, call('a')),
      open(2, call('b')),
      input(2, '{"b":'),
      input(1, '{"a":1}'),
      shut(0),
      input(2, '2}'),
      shut(2),
      shut(1),
      done,
      { type: 'response-end' },
    ])
    expect(frame(sent)).toEqual([
      'message_start',
      'start 0 text',
      'delta 0 text_delta',
      'stop 0',
      'start 1 tool_use',
      'delta 1 input_json_delta',
      'delta 1 input_json_delta',
      'stop 1',
      'start 2 tool_use',
      'delta 2 input_json_delta',
      'delta 2 input_json_delta',
      'delta 2 input_json_delta',
      'stop 2',
      'message_delta',
      'message_stop',
    ])
    const texts = sent
      .map(({ body }) => (body.delta as JsonObject | undefined)?.partial_json)
      .filter((item) => item !== undefined)
    expect(texts).toEqual(['', '{"a":1}', '', '{"b":', '2}'])
    expect(sent.at(-2)?.body.delta).toEqual({ stop_reason: 'tool_use', stop_sequence: null })
  })

  test('closes a part that never ended before the end of the message', () => {
    const { sent } = encode([
      begin,
      open(0, { type: 'text', text: '' }),
      open(1, call('a')),
      done,
      { type: 'response-end' },
    ])
    expect(frame(sent).slice(-5)).toEqual([
      'start 1 tool_use',
      'delta 1 input_json_delta',
      'stop 1',
      'message_delta',
      'message_stop',
    ])
  })

  test('writes early usage in message_start, and the complete usage in message_delta even if it comes last', () => {
    const none = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }
    const known = { input_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 3, output_tokens: 2 }
    const usageOf = (sent: ReturnType<typeof encode>['sent']) => [
      (sent[0]?.body.message as JsonObject | undefined)?.usage,
      sent.at(-2)?.body.usage,
    ]
    const delayed = encode([
      begin,
      open(0, { type: 'text', text: 'Hi' }),
      shut(0),
      done,
      { type: 'usage', usage: counted },
      { type: 'response-end' },
    ])
    expect(usageOf(delayed.sent)).toEqual([none, known])
    const early = encode([begin, { type: 'usage', usage: counted }, done, { type: 'response-end' }])
    expect(usageOf(early.sent)).toEqual([known, known])
    expect(usageOf(encode([begin, done, { type: 'response-end' }]).sent)).toEqual([none, none])
  })

  test('writes the signature at the end of reasoning, whenever it came', () => {
    const seal: ModelEvent = {
      type: 'part-delta',
      choice: 0,
      part: 0,
      delta: { type: 'seal', seal: { issuer: 'chat', data: 's' } },
    }
    const think: ModelEvent = { type: 'part-delta', choice: 0, part: 0, delta: { type: 'reasoning', text: 'Hm.' } }
    const { sent } = encode([
      begin,
      open(0, { type: 'reasoning', text: '' }),
      seal,
      think,
      shut(0),
      done,
      { type: 'response-end' },
    ])
    expect(sent[1]?.body.content_block).toEqual({ type: 'thinking', thinking: '', signature: '' })
    expect(frame(sent).slice(1, 5)).toEqual([
      'start 0 thinking',
      'delta 0 thinking_delta',
      'delta 0 signature_delta',
      'stop 0',
    ])
    expect(sent[3]?.body.delta).toEqual({ type: 'signature_delta', signature: 'mgs1.chat.s' })
  })

  test('writes the first choice only, and reports other choices, media and log probabilities once', () => {
    const { sent, losses } = encode([
      begin,
      open(0, { type: 'text', text: 'other' }, 1),
      shut(0, 1),
      open(0, { type: 'media', kind: 'audio', source: { type: 'base64', data: '' } }),
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'media', data: 'x' } },
      shut(0),
      open(1, { type: 'text', text: '' }),
      { type: 'part-delta', choice: 0, part: 1, delta: { type: 'text', text: 'Hi', logprobs: [] } },
      { type: 'part-delta', choice: 0, part: 1, delta: { type: 'text', text: '!', logprobs: [] } },
      done,
      { type: 'response-end' },
    ])
    expect(frame(sent).filter((line) => line.startsWith('start'))).toEqual(['start 0 text'])
    expect(losses.map(({ path }) => path)).toEqual(['/choices/1', '', '/choices/0/logprobs'])
  })

  test('writes an error as one error event and nothing after it', () => {
    const error: ErrorInfo = { kind: 'overloaded', status: 503, message: 'Too busy.' }
    const { sent } = encode([
      begin,
      open(0, { type: 'text', text: 'Hi' }),
      { type: 'error', error },
      shut(0),
      done,
      { type: 'response-end' },
    ])
    expect(sent.at(-1)).toEqual({
      event: 'error',
      body: { type: 'error', error: { type: 'overloaded_error', message: 'Too busy.' } },
    })
    expect(sent.filter(({ event }) => event === 'message_stop')).toEqual([])
    expect(encode([{ type: 'error', error }]).sent).toHaveLength(1)
  })

  test('never completes a response that ended in an error', () => {
    const { sent } = encode([
      begin,
      { type: 'choice-end', choice: 0, finish: { reason: 'error', explanation: 'Bad call.' } },
      { type: 'response-end' },
    ])
    expect(sent.at(-1)?.body).toEqual({ type: 'error', error: { type: 'api_error', message: 'Bad call.' } })
    expect(sent.some(({ event }) => event === 'message_delta' || event === 'message_stop')).toBe(false)
  })

  test('writes no end for a stream that has none', () => {
    expect(frame(encode([begin, open(0, { type: 'text', text: 'Hi' }), shut(0), done]).sent).at(-1)).toBe('stop 0')
  })

  test('writes a heartbeat as a ping, after message_start if the message has started', () => {
    const encoder = messagesCodec.encodeStream(contextFor())
    expect(encoder.heartbeat()).toEqual([{ event: 'ping', data: '{"type":"ping"}' }])
    expect(encoder.push(begin)).toEqual([])
    expect(encoder.heartbeat().map(({ event }) => event)).toEqual(['message_start', 'ping'])
    expect(encoder.heartbeat().map(({ event }) => event)).toEqual(['ping'])
    expect(encoder.push(open(0, { type: 'text', text: '' })).map(({ event }) => event)).toEqual(['content_block_start'])
  })
})
