import { describe, expect, test } from 'vitest'
import type { ErrorInfo } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { codecs } from '../codecs.ts'
import type { ModelEvent, Part } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { responsesCodec } from './codec.ts'
import { checkGrammar } from './grammar.test-support.ts'
import { contextFor, run } from './recorded.test-support.ts'

const event = (type: string, fields: JsonObject = {}): SseEvent => ({
  event: type,
  data: JSON.stringify({ type, ...fields }),
})
const response: JsonObject = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'in_progress',
  output: [],
}
const created = event('response.created', { sequence_number: 0, response })
const completed = (output: JsonObject[] = []): SseEvent =>
  event('response.completed', {
    response: {
      ...response,
      status: 'completed',
      output,
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    },
  })
const item = (fields: JsonObject): JsonObject => ({ output_index: 0, item: fields })
const message = (text: string): JsonObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})
const decode = (events: SseEvent[], own = false): ModelEvent[] =>
  run(responsesCodec.decodeStream(contextFor({}, own)), events)
const partsOf = (events: SseEvent[]): Part[] => foldEvents(decode(events)).choices[0]?.parts ?? []

describe('the decoder of streams', () => {
  const delta = (text: string): SseEvent =>
    event('response.output_text.delta', { output_index: 0, content_index: 0, delta: text })

  test.each<[string, SseEvent[], Part[]]>([
    [
      'without the first events of items and parts',
      [created, delta('a'), delta('b'), completed()],
      [{ type: 'text', text: 'ab' }],
    ],
    [
      'without deltas',
      [created, event('response.output_item.done', item(message('ab'))), completed()],
      [{ type: 'text', text: 'ab' }],
    ],
    ['with its items at the end only', [created, completed([message('ab')])], [{ type: 'text', text: 'ab' }]],
    [
      'with a done event of a text and no delta',
      [created, event('response.output_text.done', { output_index: 0, content_index: 0, text: 'ab' }), completed()],
      [{ type: 'text', text: 'ab' }],
    ],
    [
      'with a delta missing',
      [created, delta('a'), event('response.output_item.done', item(message('abc'))), completed()],
      [{ type: 'text', text: 'abc' }],
    ],
    [
      'with the event names of Open Responses',
      [created, event('response.reasoning.delta', { output_index: 0, content_index: 0, delta: 'hm' }), completed()],
      [{ type: 'reasoning', text: 'hm', summary: false }],
    ],
    [
      'with a refusal',
      [created, event('response.refusal.delta', { output_index: 0, content_index: 0, delta: 'no' }), completed()],
      [{ type: 'refusal', text: 'no' }],
    ],
    [
      'with a call whose arguments arrive whole',
      [
        created,
        event('response.output_item.added', item({ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' })),
        event('response.output_item.done', item({ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' })),
        completed(),
      ],
      [{ type: 'tool-call', id: 'c', name: 'f', input: '{}' }],
    ],
    [
      'with a custom call',
      [
        created,
        event('response.output_item.added', item({ type: 'custom_tool_call', call_id: 'c', name: 'f', input: '' })),
        event('response.custom_tool_call_input.delta', { output_index: 0, delta: 'x' }),
        completed(),
      ],
      [{ type: 'tool-call', id: 'c', name: 'f', input: 'x', custom: true }],
    ],
    [
      'with a seal and no reasoning text',
      [
        created,
        event('response.output_item.added', item({ type: 'reasoning', summary: [], encrypted_content: 'early' })),
        event('response.output_item.done', item({ type: 'reasoning', summary: [], encrypted_content: 'E' })),
        completed(),
      ],
      [{ type: 'reasoning', text: '', redacted: true, seal: { issuer: 'responses', data: 'E' } }],
    ],
    [
      'with a server-side tool',
      [
        created,
        event('response.output_item.added', item({ id: 'ws', type: 'web_search_call', status: 'in_progress' })),
        event('response.web_search_call.searching', { output_index: 0, item_id: 'ws' }),
        event('response.output_item.done', item({ id: 'ws', type: 'web_search_call', status: 'completed' })),
        completed(),
      ],
      [{ type: 'native', format: 'responses', value: { id: 'ws', type: 'web_search_call', status: 'completed' } }],
    ],
  ])('accepts a stream %s', (_name, events, parts) => {
    expect(partsOf(events)).toEqual(parts)
    expect(decode(events).at(-1)).toEqual({ type: 'response-end' })
  })

  test('accepts events whose data have no type', () => {
    const bare: SseEvent[] = [
      created,
      { ...delta('a'), data: '{"output_index":0,"content_index":0,"delta":"a"}' },
      completed(),
    ]
    expect(partsOf(bare)).toEqual([{ type: 'text', text: 'a' }])
  })

  test.each<[string, SseEvent, Partial<ErrorInfo>]>([
    [
      'a nested error',
      event('error', { error: { code: 'rate_limit_exceeded', message: 'slow' } }),
      { kind: 'rate_limited', message: 'slow' },
    ],
    [
      'a flat error',
      event('error', { code: 'rate_limit_exceeded', message: 'slow' }),
      { kind: 'rate_limited', message: 'slow' },
    ],
    [
      'a failed response',
      event('response.failed', { response: { error: { code: 'server_error', message: 'broke' } } }),
      { kind: 'upstream_error', message: 'broke' },
    ],
    ['a cancelled response', event('response.cancelled', { response }), { kind: 'upstream_error' }],
    ['data that is not JSON', { data: '{' }, { kind: 'upstream_bad_response' }],
    ['data that is not an event', { data: '[]' }, { kind: 'upstream_bad_response' }],
  ])('ends in an error at %s', (_name, last, error) => {
    const out = decode([created, delta('a'), last, delta('b'), completed()])
    expect(out.at(-1)).toMatchObject({ type: 'error', error })
    expect(out.filter(({ type }) => type === 'error')).toHaveLength(1)
  })

  test('is not ended by [DONE]', () => {
    expect(decode([created, delta('a'), { data: '[DONE]' }]).at(-1)).toMatchObject({
      error: { kind: 'upstream_truncated' },
    })
  })

  test('reports unknown events', () => {
    const context = contextFor({}, false)
    run(responsesCodec.decodeStream(context), [
      created,
      event('keepalive'),
      event('response.smell', { x: 1 }),
      completed(),
    ])
    expect(context.report.losses).toMatchObject([{ kind: 'unknown', severity: 'note' }])
  })
})

describe('the encoder of streams', () => {
  const start: ModelEvent = { type: 'response-start', id: 'r', model: 'm', created: 1 }
  const ended: ModelEvent[] = [{ type: 'choice-end', choice: 0, finish: { reason: 'stop' } }, { type: 'response-end' }]
  const write = (events: ModelEvent[]): SseEvent[] => run(responsesCodec.encodeStream(contextFor()), events)
  const part = (number: number, value: Part): ModelEvent[] => [
    { type: 'part-start', choice: 0, part: number, value },
    { type: 'part-end', choice: 0, part: number },
  ]

  test('writes the events of OpenAI', () => {
    const sent = write([
      start,
      { type: 'part-start', choice: 0, part: 0, value: { type: 'text', text: '' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'text', text: 'hi' } },
      { type: 'part-end', choice: 0, part: 0 },
      ...part(1, { type: 'tool-call', id: 'c', name: 'f', input: '' }),
      ...ended,
    ])
    checkGrammar(sent, 'stream')
    expect(sent.map(({ event: name }) => name)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
      undefined,
    ])
    expect(sent.map(({ data }) => data).slice(4, 5)).toEqual([
      '{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"hi","logprobs":[]}',
    ])
    expect(sent.at(-1)).toEqual({ data: '[DONE]' })
  })

  test('keeps a stream alive with its first events, then with comments', () => {
    const encoder = responsesCodec.encodeStream(contextFor())
    const sent = [...encoder.heartbeat(), ...encoder.heartbeat(), ...encoder.push(start), ...encoder.heartbeat()]
    for (const event of ended) sent.push(...encoder.push(event))
    expect(encoder.heartbeat()).toEqual([])
    expect(sent.slice(0, 4).map(({ event: name }) => name)).toEqual([
      'response.created',
      'response.in_progress',
      ':',
      ':',
    ])
    checkGrammar(
      sent.filter(({ event: name }) => name !== ':'),
      'heartbeats',
    )
  })

  test.each<[string, ModelEvent[]]>([
    ['before it began', []],
    ['within a text', [start, { type: 'part-start', choice: 0, part: 0, value: { type: 'text', text: 'a' } }]],
    ['between items', [start, ...part(0, { type: 'text', text: 'a' })]],
  ])('sends two error events and the finished items for a stream that breaks %s', (_name, events) => {
    const sent = write(events)
    checkGrammar(sent, 'broken')
    expect(sent.slice(-2).map(({ event: name }) => name)).toEqual(['error', 'response.failed'])
    expect(JSON.parse(sent.at(-1)?.data ?? '')).toMatchObject({
      response: { id: expect.any(String), object: 'response', error: { code: 'server_error' } },
    })
  })

  test('sends an error for a finish with an error', () => {
    const sent = write([
      start,
      { type: 'choice-end', choice: 0, finish: { reason: 'error', explanation: 'malformed call' } },
      { type: 'response-end' },
    ])
    expect(sent.at(-1)?.data).toContain('malformed call')
    expect(sent.filter(({ event: name }) => name === 'response.completed')).toEqual([])
  })

  test('sends the explanation of a refusal', () => {
    const finish = { reason: 'refusal', explanation: 'unsafe' } as const
    const sent = write([
      start,
      ...part(0, { type: 'text', text: 'a' }),
      { type: 'choice-end', choice: 0, finish },
      { type: 'response-end' },
    ])
    checkGrammar(sent, 'refused')
    const { response: final } = JSON.parse(sent.at(-2)?.data ?? '')
    expect(final).toMatchObject({
      status: 'incomplete',
      output: [{ status: 'incomplete', content: [{ text: 'a' }, { refusal: 'unsafe' }] }],
    })
  })

  test('sends images whole, and citations in place', () => {
    const sent = write([
      start,
      {
        type: 'part-start',
        choice: 0,
        part: 0,
        value: { type: 'media', kind: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'AA' } },
      },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'media', data: 'BB' } },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'part-start', choice: 0, part: 1, value: { type: 'text', text: 'ab' } },
      { type: 'part-delta', choice: 0, part: 1, delta: { type: 'citation', citation: { url: 'u', start: 0, end: 1 } } },
      { type: 'part-end', choice: 0, part: 1 },
      ...ended,
    ])
    checkGrammar(sent, 'media')
    const { response: final } = JSON.parse(sent.at(-2)?.data ?? '')
    expect(final.output).toMatchObject([
      { type: 'image_generation_call', result: 'AABB' },
      { content: [{ annotations: [{ type: 'url_citation', url: 'u', start_index: 0, end_index: 1 }] }] },
    ])
  })

  test('sends log probabilities with their tokens', () => {
    const logprobs = { content: [{ token: 'a', logprob: -1, top_logprobs: [] }], refusal: null }
    const sent = write([
      start,
      { type: 'part-start', choice: 0, part: 0, value: { type: 'text', text: '' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'text', text: 'a', logprobs } },
      { type: 'part-end', choice: 0, part: 0 },
      ...ended,
    ])
    const { response: final } = JSON.parse(sent.at(-2)?.data ?? '')
    expect(final.output[0].content[0].logprobs).toEqual(logprobs.content)
    expect(JSON.parse(sent[4]?.data ?? '').logprobs).toEqual(logprobs.content)
  })
})

describe('the tap of a stream', () => {
  const tapped = (events: SseEvent[]) => {
    const tap = responsesCodec.tapStream({ withholdUsage: false, target: contextFor().target })
    for (const one of events) expect(tap.push(one)).toBe(true)
    return tap
  }
  const delta = event('response.output_text.delta', {
    output_index: 0,
    content_index: 0,
    delta: 'a',
    sequence_number: 7,
  })
  const info: ErrorInfo = { kind: 'upstream_truncated', status: 502, message: 'cut' }

  test('has not started after the first events', () => {
    expect(tapped([created, event('response.in_progress', { response }), event('keepalive')]).started).toBe(false)
    expect(tapped([created, delta]).started).toBe(true)
  })

  test('trusts the type in the data over the event name', () => {
    const { data } = event('error', { error: { type: 'server_error', code: null, message: 'Boom', param: null } })
    expect(tapped([created, delta, { event: 'oops: error', data }]).isFailing).toBe(true)
    const misnamed = { ...completed(), data: completed().data.replace('"response.completed"', '".completed"') }
    expect(tapped([created, delta, misnamed]).ended).toBe(false)
  })

  test('reports an error in the form of chat as a failure, as clients do', () => {
    const data = JSON.stringify({ error: { message: 'Boom', type: 'server_error', param: null, code: null } })
    expect(tapped([created, delta, { data }]).isFailing).toBe(true)
    expect(tapped([created, { data }]).error).toMatchObject({ message: 'Boom' })
  })

  test('can write a failure after a first event that nests too deep to be repeated', () => {
    const deep = { ...response, metadata: 0 }
    const text = JSON.stringify({ type: 'response.created', response: deep })
    const data = text.replace('"metadata":0', `"metadata":${'['.repeat(9000)}${']'.repeat(9000)}`)
    const failure = tapped([{ event: 'response.created', data }, delta]).fail(info)
    expect(failure.map(({ event }) => event)).toEqual(['error', 'response.failed'])
  })

  test('reads the type in the data if events have no names', () => {
    const tap = tapped([created, delta, completed()].map(({ data }) => ({ data })))
    expect([tap.started, tap.ended, tap.finish, tap.usage?.input.total]).toEqual([true, true, 'completed', 1])
  })

  test('waits for the event after an error, as clients do', () => {
    const error = event('error', { sequence_number: 8, error: { code: 'rate_limit_exceeded', message: 'slow' } })
    const tap = tapped([created, delta, error])
    expect(tap.error).toBeUndefined()
    expect(tap.fail(info).map(({ event: name }) => name)).toEqual(['response.failed'])
    expect(tap.fail(info)[0]?.data).toContain('slow')
    tap.push(
      event('response.failed', {
        response: { ...response, status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow' } },
      }),
    )
    expect(tap.error).toMatchObject({ kind: 'rate_limited' })
    expect(tapped([created, error]).error).toMatchObject({ kind: 'rate_limited' })
  })

  test('writes heartbeats and errors of the stream', () => {
    expect(tapped([]).heartbeat()).toEqual([{ event: ':', data: 'keep-alive' }])
    const tap = tapped([created, delta])
    expect(tap.heartbeat()).toEqual([{ event: ':', data: 'keep-alive' }])
    const [error, failed] = tap.fail(info).map(({ data }) => JSON.parse(data))
    expect(error).toMatchObject({ type: 'error', sequence_number: 8, message: 'cut', error: { message: 'cut' } })
    expect(failed).toMatchObject({
      sequence_number: 9,
      response: { id: 'resp_1', status: 'failed', error: { message: 'cut' } },
    })
  })
})

test('reports the service tier of the last event, not the requested one', () => {
  const responseWith = (tier: string, status: string): JsonObject => ({ ...response, service_tier: tier, status })
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 }
  const events = [
    event('response.created', { response: responseWith('auto', 'in_progress') }),
    event('response.completed', { response: { ...responseWith('priority', 'completed'), usage } }),
  ]
  const decoded = decode(events)
  expect(decoded[0]).not.toHaveProperty('serviceTier')
  expect(foldEvents(decoded).serviceTier).toBe('priority')
  expect(decoded.find(({ type }) => type === 'choice-end')).not.toHaveProperty('extra')
  for (const codec of codecs) {
    const context = contextFor({}, false)
    const encoder = codec.encodeStream(context)
    const written = decoded.flatMap((one) => encoder.push(one)).map(({ data }) => data)
    expect(written.join(''), codec.format).toContain('"priority"')
    expect(context.report.losses.filter(({ path }) => path.includes('tier'))).toEqual([])
  }
})
