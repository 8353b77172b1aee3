import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { ModelEvent, ModelRequest, Part } from '../ir.ts'
import { chatCodec } from './codec.ts'
import { run, testContext } from './context.test-support.ts'

const start: ModelEvent = { type: 'response-start', id: 'r', model: 'gpt', created: 5 }
const end: ModelEvent = { type: 'response-end' }
const finish = (reason: 'stop' | 'tool-calls' | 'refusal' | 'error' | 'other' = 'stop', more = {}): ModelEvent => ({
  type: 'choice-end',
  choice: 0,
  finish: { reason, ...more },
})
const open = (part: number, value: Part, choice = 0): ModelEvent => ({ type: 'part-start', choice, part, value })
const close = (part: number, choice = 0): ModelEvent => ({ type: 'part-end', choice, part })
const add = (part: number, type: 'text' | 'reasoning' | 'input' | 'refusal', text: string, choice = 0): ModelEvent => ({
  type: 'part-delta',
  choice,
  part,
  delta: { type, text },
})
const text = (part: number, value: string, choice = 0): ModelEvent[] => [
  open(part, { type: 'text', text: '' }, choice),
  add(part, 'text', value, choice),
  close(part, choice),
]

function encode(events: ModelEvent[], request: Partial<ModelRequest> = {}) {
  const context = testContext({ request: { stream: true, ...request } })
  const data = run(chatCodec.encodeStream(context), events).map((event) => event.data)
  const chunks = data.filter((item) => item !== '[DONE]').map((item) => JSON.parse(item) as JsonObject)
  const choices = chunks.flatMap((chunk) => (chunk.choices ?? []) as JsonObject[])
  return { data, chunks, choices, deltas: choices.map(({ delta }) => delta), losses: context.losses }
}
const role = { role: 'assistant', content: '', refusal: null }

describe('streams for chat clients', () => {
  test('send the role first, then the text, the finish reason and [DONE]', () => {
    const { data, chunks } = encode([start, ...text(0, 'Hi'), finish(), end])
    const frame = { id: 'r', object: 'chat.completion.chunk', created: 5, model: 'gpt', system_fingerprint: null }
    expect(chunks).toEqual([
      { ...frame, choices: [{ index: 0, delta: role, logprobs: null, finish_reason: null }] },
      { ...frame, choices: [{ index: 0, delta: { content: 'Hi' }, logprobs: null, finish_reason: null }] },
      { ...frame, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }] },
    ])
    expect(data.at(-1)).toBe('[DONE]')
  })

  const usage: ModelEvent = { type: 'usage', usage: { input: { total: 3 }, output: { total: 2 } } }
  test('send usage in a separate chunk if the client requested it', () => {
    const { chunks } = encode([start, usage, ...text(0, 'Hi'), finish(), end], { output: { includeUsage: true } })
    expect(chunks.slice(0, -1).map((chunk) => chunk.usage)).toEqual([null, null, null])
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    })
  })

  test('send no usage if the client did not request it', () => {
    expect(encode([start, usage, ...text(0, 'Hi'), finish(), end]).data.join()).not.toContain('usage')
  })

  test('number calls separately from other parts and name each once', () => {
    const call = (part: number, id: string): ModelEvent[] => [
      open(part, { type: 'tool-call', id, name: 'f', input: '' }),
      add(part, 'input', '{}'),
      close(part),
    ]
    const { deltas, choices } = encode([start, ...call(0, 'a'), ...call(1, 'b'), finish('tool-calls'), end])
    const first = (index: number, id: string) => [
      { index, id, type: 'function', function: { name: 'f', arguments: '' } },
    ]
    expect(deltas).toEqual([
      { role: 'assistant', content: null, tool_calls: first(0, 'a'), refusal: null },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
      { tool_calls: first(1, 'b') },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
      {},
    ])
    expect(choices.at(-1)?.finish_reason).toBe('tool_calls')
  })

  test.each([
    [
      'empty JSON arguments for a function without arguments',
      false,
      [{ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }],
    ],
    ['no input for a custom tool without input', true, []],
  ])('send %s', (_, custom, deltas) => {
    const value: Part = { type: 'tool-call', id: 'a', name: 'f', input: '', ...(custom ? { custom } : {}) }
    expect(encode([start, open(0, value), close(0), finish('tool-calls'), end]).deltas.slice(1, -1)).toEqual(deltas)
  })

  test('never send reasoning and text in one delta and send seals at the end of each reasoning part', () => {
    const { deltas } = encode([
      start,
      open(0, { type: 'reasoning', text: '' }),
      add(0, 'reasoning', 'a'),
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'seal', seal: { issuer: 'messages', data: 'S' } } },
      close(0),
      open(1, { type: 'reasoning', text: '', redacted: true, seal: { issuer: 'messages', data: 'R' } }),
      close(1),
      ...text(2, 'x'),
      finish(),
      end,
    ])
    const first = { type: 'reasoning.text', text: 'a', signature: 'mgs1.messages.S', index: 0 }
    expect(deltas).toEqual([
      role,
      { reasoning_content: 'a' },
      { reasoning_details: [first] },
      { reasoning_details: [first, { type: 'reasoning.encrypted', data: 'mgs1.messages.R', index: 1 }] },
      { content: 'x' },
      {},
    ])
  })

  test('separate reasoning parts with a blank line', () => {
    const piece = (part: number): ModelEvent[] => [
      open(part, { type: 'reasoning', text: '' }),
      add(part, 'reasoning', 'a'),
      close(part),
    ]
    expect(encode([start, ...piece(0), ...piece(1), finish('stop'), end]).deltas.slice(1, -1)).toEqual([
      { reasoning_content: 'a' },
      { reasoning_content: '\n\na' },
    ])
  })

  test('send citations before the end and report those without a URL', () => {
    const { deltas, losses } = encode([
      start,
      open(0, { type: 'text', text: '' }),
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'citation', citation: { url: 'u', title: 't' } } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'citation', citation: { title: 'a document' } } },
      add(0, 'text', 'xy'),
      close(0),
      finish(),
      end,
    ])
    expect(deltas.at(-2)).toEqual({
      annotations: [{ type: 'url_citation', url_citation: { url: 'u', title: 't', start_index: 0, end_index: 2 } }],
    })
    expect(losses).toHaveLength(1)
  })

  test('send audio in deltas and images as a whole', () => {
    const sound: Part = {
      type: 'media',
      kind: 'audio',
      source: { type: 'base64', data: '' },
      extra: { chat: { id: 'a' } },
    }
    const image: Part = { type: 'media', kind: 'image', source: { type: 'base64', data: 'A' }, mediaType: 'image/png' }
    const { deltas } = encode([
      start,
      open(0, sound),
      {
        type: 'part-delta',
        choice: 0,
        part: 0,
        delta: { type: 'media', data: 'AA', extra: { chat: { transcript: 'Hi' } } },
      },
      close(0),
      open(1, image),
      { type: 'part-delta', choice: 0, part: 1, delta: { type: 'media', data: 'B' } },
      close(1),
      finish(),
      end,
    ])
    expect(deltas.slice(1, -1)).toEqual([
      { audio: { id: 'a' } },
      { audio: { transcript: 'Hi', data: 'AA' } },
      { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AB' }, index: 0 }] },
    ])
  })

  test('keep several choices separate', () => {
    const { choices } = encode([
      start,
      ...text(0, 'a', 0),
      ...text(0, 'b', 1),
      finish(),
      { type: 'choice-end', choice: 1, finish: { reason: 'length' } },
      end,
    ])
    expect(choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, null],
      [0, null],
      [1, null],
      [1, null],
      [0, 'stop'],
      [1, 'length'],
    ])
  })

  test('send the explanation of a refusal that has no text', () => {
    const { deltas, choices } = encode([start, finish('refusal', { explanation: 'unsafe' }), end])
    expect(deltas).toEqual([role, { refusal: 'unsafe' }, {}])
    expect(choices.at(-1)?.finish_reason).toBe('content_filter')
  })

  test('use function_call for clients that sent functions', () => {
    const { deltas, choices } = encode(
      [
        start,
        open(0, { type: 'tool-call', id: 'a', name: 'f', input: '' }),
        add(0, 'input', '{}'),
        close(0),
        finish('tool-calls'),
        end,
      ],
      { at: { tools: '/functions' } },
    )
    expect(deltas).toEqual([
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '' }, refusal: null },
      { function_call: { arguments: '{}' } },
      {},
    ])
    expect(choices.at(-1)?.finish_reason).toBe('function_call')
  })

  test.each<[string, ModelEvent[], string]>([
    [
      'an error event',
      [start, ...text(0, 'x'), { type: 'error', error: { kind: 'upstream_truncated', status: 502, message: 'cut' } }],
      'upstream_truncated',
    ],
    ['the finish reason error', [start, ...text(0, 'x'), finish('error'), end], 'upstream_error'],
    ['an unknown finish reason without content', [start, finish('other'), end], 'upstream_error'],
    ['a missing end', [start, ...text(0, 'x')], 'upstream_truncated'],
  ])('end with one error and without [DONE] after %s', (_, events, code) => {
    const { data } = encode(events)
    expect(JSON.parse(data.at(-1) ?? '')).toMatchObject({ error: { code, type: 'server_error', param: null } })
    expect(data).not.toContain('[DONE]')
    expect(data.filter((item) => item.startsWith('{"error"'))).toHaveLength(1)
  })

  test("forward a chat upstream's vendor fields next to the choices", () => {
    const { chunks } = encode([
      { ...start, serviceTier: 'flex', extra: { chat: { system_fingerprint: 'fp' } } } as ModelEvent,
      ...text(0, 'x'),
      { type: 'native', format: 'chat', value: { citations: ['u'] } },
      finish(),
      end,
    ])
    expect(chunks[0]).toMatchObject({ system_fingerprint: 'fp', service_tier: 'flex' })
    expect(chunks[2]).toMatchObject({ citations: ['u'] })
  })

  test('send a comment as heartbeat before the response starts and an empty chunk afterwards', () => {
    const encoder = chatCodec.encodeStream(testContext())
    expect(encoder.heartbeat()).toEqual([{ event: ':', data: 'keep-alive' }])
    encoder.push(start)
    expect(encoder.heartbeat().map(({ data }) => JSON.parse(data))).toEqual([
      {
        id: 'r',
        object: 'chat.completion.chunk',
        created: 5,
        model: 'gpt',
        choices: [{ index: 0, delta: {}, finish_reason: null }],
        system_fingerprint: null,
      },
    ])
    encoder.push(end)
    expect(encoder.heartbeat()).toEqual([])
  })
})
