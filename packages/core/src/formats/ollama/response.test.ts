import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { ClientCodec, ExchangeContext } from '../codec.ts'
import type { ModelEvent, ModelResponse, Part } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { ollamaCodec, ollamaGenerateCodec } from './codec.ts'

let elapsed = 0
const contextOf = (): ExchangeContext => ({
  report: createReport(),
  newId: (prefix) => `${prefix}new`,
  now: () => 1_800_000_000,
  elapsedMs: () => elapsed,
  request: { model: 'asked', turns: [], stream: false },
})
const responseOf = (parts: Part[], more: Partial<ModelResponse> = {}): ModelResponse => ({
  id: 'r',
  model: 'm',
  created: 1_700_000_000,
  choices: [{ parts, finish: { reason: parts.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop' } }],
  usage: { input: { total: 7 }, output: { total: 9 } },
  ...more,
})
const at = { model: 'm', created_at: '2023-11-14T22:13:20.000Z' }
const pixel = 'iVBORw0KGgo='
const parts: Part[] = [
  { type: 'reasoning', text: 'Hm.' },
  { type: 'reasoning', text: 'So.' },
  { type: 'text', text: 'I ' },
  { type: 'text', text: 'look.' },
  { type: 'media', kind: 'image', source: { type: 'base64', data: pixel }, mediaType: 'image/png' },
  { type: 'tool-call', id: 'c1', name: 'f', input: '{"b":1,"a":2}' },
  { type: 'tool-call', id: '', name: 'g', input: '' },
]
const calls = [
  { id: 'c1', function: { index: 0, name: 'f', arguments: { b: 1, a: 2 } } },
  { id: 'call_new', function: { index: 1, name: 'g', arguments: {} } },
]

describe('whole responses for Ollama clients', () => {
  const encode = (codec: ClientCodec, response: ModelResponse) => {
    elapsed = 12.5
    const context = contextOf()
    return { body: codec.encodeResponse(response, context), losses: context.report.losses }
  }
  const ending = {
    done: true,
    done_reason: 'stop',
    total_duration: 12_500_000,
    load_duration: 0,
    prompt_eval_count: 7,
    prompt_eval_duration: 0,
    eval_count: 9,
    eval_duration: 12_500_000,
  }

  it('have one message with all parts', () => {
    expect(encode(ollamaCodec, responseOf(parts))).toEqual({
      body: {
        ...at,
        message: { role: 'assistant', content: 'I look.', thinking: 'Hm.\n\nSo.', images: [pixel], tool_calls: calls },
        ...ending,
      },
      losses: [],
    })
  })

  it('have the parts at the top level for a generated text', () => {
    expect(encode(ollamaGenerateCodec, responseOf(parts)).body).toEqual({
      ...at,
      response: 'I look.',
      thinking: 'Hm.\n\nSo.',
      tool_calls: calls,
      image: pixel,
      ...ending,
    })
  })

  it('name the requested model, and leave out counts that the upstream did not report', () => {
    const { usage: _, ...uncounted } = responseOf([{ type: 'text', text: 'a' }], { model: '', created: 0 })
    const { body } = encode(ollamaCodec, uncounted)
    expect(body).toMatchObject({ model: 'asked', created_at: '2027-01-15T08:00:00.000Z' })
    expect(Object.keys(body)).not.toContain('prompt_eval_count')
    expect(Object.keys(body)).not.toContain('eval_count')
  })

  test.each([
    ['stop', 'stop'],
    ['stop-sequence', 'stop'],
    ['length', 'length'],
    ['context-length', 'length'],
    ['tool-calls', 'stop'],
    ['content-filter', 'content_filter'],
    ['refusal', 'content_filter'],
    ['pause', 'stop'],
    ['other', 'stop'],
  ] as const)('end with the reason %s as %s', (reason, word) => {
    const finished = responseOf([], { choices: [{ parts: [{ type: 'text', text: 'a' }], finish: { reason } }] })
    expect(encode(ollamaCodec, finished).body.done_reason).toBe(word)
  })

  test.each([
    [{ reason: 'error', explanation: 'It broke.' }, 'It broke.'],
    [{ reason: 'other' }, 'The upstream ended its response with an error.'],
  ] as const)('are errors if they ended with %j and nothing else', (finish, message) => {
    expect(() => encode(ollamaCodec, responseOf([], { choices: [{ parts: [], finish }] }))).toThrow(message)
  })

  it('wrap and report the input of a call that is no JSON object', () => {
    const { body, losses } = encode(
      ollamaCodec,
      responseOf([{ type: 'tool-call', id: 'c', name: 'f', input: '{"a":' }]),
    )
    expect(body).toMatchObject({ message: { tool_calls: [{ function: { arguments: { invalid_json: '{"a":' } } }] } })
    expect(losses).toHaveLength(1)
  })

  it('have one image for a generated text, and report the others', () => {
    const images = [parts[4], parts[4]] as Part[]
    const { body, losses } = encode(ollamaGenerateCodec, responseOf(images))
    expect(body.image).toBe(pixel)
    expect(losses).toHaveLength(1)
  })
})

describe('streams for Ollama clients', () => {
  const text = (part: number, piece: string, type: 'text' | 'reasoning' = 'text'): ModelEvent => ({
    type: 'part-delta',
    choice: 0,
    part,
    delta: { type, text: piece },
  })
  const start: ModelEvent = { type: 'response-start', id: 'r', model: 'm', created: 1_700_000_000 }
  const open = (part: number, value: Part): ModelEvent => ({ type: 'part-start', choice: 0, part, value })
  const close = (part: number): ModelEvent => ({ type: 'part-end', choice: 0, part })
  const events: ModelEvent[] = [
    start,
    open(0, { type: 'reasoning', text: '' }),
    text(0, 'Hm.', 'reasoning'),
    close(0),
    open(1, { type: 'reasoning', text: '' }),
    text(1, 'So.', 'reasoning'),
    close(1),
    open(2, { type: 'text', text: '' }),
    text(2, 'I '),
    // Calls may overlap with text and each other.
    open(3, { type: 'tool-call', id: 'c1', name: 'f', input: '' }),
    open(4, { type: 'tool-call', id: 'c2', name: 'g', input: '' }),
    { type: 'part-delta', choice: 0, part: 4, delta: { type: 'input', text: '{"b"' } },
    { type: 'part-delta', choice: 0, part: 3, delta: { type: 'input', text: '{"a":1}' } },
    text(2, 'look.'),
    { type: 'part-delta', choice: 0, part: 4, delta: { type: 'input', text: ':2}' } },
    close(4),
    close(2),
    close(3),
    { type: 'choice-end', choice: 0, finish: { reason: 'tool-calls' } },
    { type: 'usage', usage: { input: { total: 7 }, output: { total: 9 } } },
    { type: 'response-end' },
  ]
  function linesOf(codec: ClientCodec, list: readonly ModelEvent[], context = contextOf()): JsonObject[] {
    elapsed = 0
    const encoder = codec.encodeStream(context)
    const out = list.flatMap((event) => {
      elapsed += 1
      return encoder.push(event)
    })
    return [...out, ...encoder.end()].map(({ data }) => JSON.parse(data) as JsonObject)
  }

  it('have pieces of text and reasoning, whole calls, and one last line', () => {
    const message = (more: JsonObject): JsonObject => ({
      ...at,
      message: { role: 'assistant', content: '', ...more },
      done: false,
    })
    expect(linesOf(ollamaCodec, events)).toEqual([
      message({ thinking: 'Hm.' }),
      message({ thinking: '\n\nSo.' }),
      message({ content: 'I ' }),
      message({ content: 'look.' }),
      message({ tool_calls: [{ id: 'c2', function: { index: 1, name: 'g', arguments: { b: 2 } } }] }),
      message({ tool_calls: [{ id: 'c1', function: { index: 0, name: 'f', arguments: { a: 1 } } }] }),
      {
        ...message({}),
        done: true,
        done_reason: 'stop',
        // The first part started after 2 ms.
        total_duration: 21_000_000,
        load_duration: 0,
        prompt_eval_count: 7,
        prompt_eval_duration: 2_000_000,
        eval_count: 9,
        eval_duration: 19_000_000,
      },
    ])
  })

  it('have the parts at the top level for a generated text', () => {
    const lines = linesOf(ollamaGenerateCodec, events)
    expect(
      lines.map(({ response, thinking, tool_calls: called, done }) => [response, thinking, called !== undefined, done]),
    ).toEqual([
      ['', 'Hm.', false, false],
      ['', '\n\nSo.', false, false],
      ['I ', undefined, false, false],
      ['look.', undefined, false, false],
      ['', undefined, true, false],
      ['', undefined, true, false],
      ['', undefined, false, true],
    ])
    expect(lines.every(({ model, created_at: date }) => model === at.model && date === at.created_at)).toBe(true)
  })

  it('end with an error, and nothing follows it', () => {
    const error = { kind: 'upstream_error', status: 502, message: 'It broke.' } as const
    const lines = linesOf(ollamaCodec, [...events.slice(0, 3), { type: 'error', error }, ...events.slice(3)])
    expect(lines.slice(1)).toEqual([{ error: 'It broke.' }])
  })

  it.each(events.slice(0, -1).map((_, length) => length))('that stop after %s events end with an error', (length) => {
    const lines = linesOf(ollamaCodec, events.slice(0, length))
    expect(lines.at(-1)).toEqual({ error: 'The upstream closed the stream before the end of its response.' })
    expect(lines.filter(({ done }) => done === true)).toEqual([])
  })

  it('are an error if the response ended with one', () => {
    const failed: ModelEvent[] = [
      start,
      { type: 'choice-end', choice: 0, finish: { reason: 'error', explanation: 'No.' } },
    ]
    expect(linesOf(ollamaCodec, [...failed, { type: 'response-end' }])).toEqual([{ error: 'No.' }])
  })

  it('leave out further choices with one report', () => {
    const context = contextOf()
    const other = events.map((event) => ('choice' in event ? { ...event, choice: 1 } : event))
    linesOf(ollamaCodec, [...events.slice(0, -1), ...other.slice(1, -2), { type: 'response-end' }], context)
    expect(context.report.losses).toHaveLength(1)
  })
})
