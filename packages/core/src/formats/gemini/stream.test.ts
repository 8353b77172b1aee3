import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { run, testContext } from '../chat/context.test-support.ts'
import type { ModelEvent, Part } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { geminiCodec } from './codec.ts'

const chunk = (parts: JsonObject[], rest: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...rest }],
  modelVersion: 'm',
  responseId: 'r',
})
const sse = (...chunks: JsonObject[]): SseEvent[] => chunks.map((one) => ({ data: JSON.stringify(one) }))
const decode = (...chunks: JsonObject[]): ModelEvent[] => run(geminiCodec.decodeStream(testContext()), sse(...chunks))
const partsOf = (...chunks: JsonObject[]): Part[] | undefined => foldEvents(decode(...chunks)).choices[0]?.parts
const encode = (...events: ModelEvent[]): JsonObject[] =>
  run(geminiCodec.encodeStream(testContext()), events).map(({ data }) => JSON.parse(data))
const last = chunk([{ text: '' }], { finishReason: 'STOP' })

const parts = '/candidates/0/content/parts'

describe('a stream of an upstream', () => {
  test('ignores candidates within a field named __proto__', () => {
    const odd = JSON.stringify({ odd_name: last }).replace('odd_name', '__proto__')
    const events = run(geminiCodec.decodeStream(testContext()), [...sse(chunk([{ text: 'a' }])), { data: odd }])
    expect(events.map(({ type }) => type)).not.toContain('choice-end')
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
  })

  test('decodes sources, also after a chunk without content', () => {
    const source = {
      groundingChunks: [{ web: { uri: 'u' } }],
      groundingSupports: [{ segment: { endIndex: 6 }, groundingChunkIndices: [0] }],
    }
    const words = sse(...['ab', 'cd', 'ef'].map((text) => chunk([{ text }])))
    words.splice(2, 0, { data: '' })
    const events = [...words, ...sse(chunk([{ text: '' }], { finishReason: 'STOP', groundingMetadata: source }))]
    const decoded = run(geminiCodec.decodeStream(testContext()), events)
    expect(decoded).toContainEqual(
      expect.objectContaining({ delta: { type: 'citation', citation: { url: 'u', start: 0, end: 6 } } }),
    )
  })

  test('decodes text, thoughts and whole calls as they arrive', () => {
    expect(
      decode(
        chunk([{ text: 'hm', thought: true }]),
        chunk([{ text: 'm', thought: true }]),
        chunk([{ text: 'a' }]),
        chunk([{ text: 'b' }]),
        chunk([{ functionCall: { id: 'x', name: 'f', args: { a: 1 } }, thoughtSignature: 'S' }]),
        { ...last, usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 } },
      ),
    ).toEqual([
      { type: 'response-start', id: 'r', model: 'm', created: 0 },
      { type: 'part-start', choice: 0, part: 0, value: { type: 'reasoning', text: '', at: `${parts}/0` } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'reasoning', text: 'hm' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { type: 'reasoning', text: 'm' } },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'part-start', choice: 0, part: 1, value: { type: 'text', text: '', at: `${parts}/1` } },
      { type: 'part-delta', choice: 0, part: 1, delta: { type: 'text', text: 'a' } },
      { type: 'part-delta', choice: 0, part: 1, delta: { type: 'text', text: 'b' } },
      { type: 'part-end', choice: 0, part: 1 },
      {
        type: 'part-start',
        choice: 0,
        part: 2,
        value: {
          type: 'tool-call',
          id: 'x',
          name: 'f',
          input: '',
          seal: { issuer: 'gemini', data: 'S' },
          at: `${parts}/2`,
        },
      },
      { type: 'part-delta', choice: 0, part: 2, delta: { type: 'input', text: '{"a":1}' } },
      { type: 'part-end', choice: 0, part: 2 },
      {
        type: 'usage',
        usage: {
          input: { total: 1 },
          output: { total: 0 },
          raw: { format: 'gemini', value: { promptTokenCount: 1, totalTokenCount: 1 } },
        },
      },
      { type: 'choice-end', choice: 0, finish: { reason: 'tool-calls', raw: { format: 'gemini', value: 'STOP' } } },
      { type: 'response-end' },
    ])
  })

  test('may continue after the finish reason', () => {
    const events = decode(chunk([{ text: 'a' }], { finishReason: 'STOP' }), {
      usageMetadata: { promptTokenCount: 2, totalTokenCount: 2 },
    })
    expect(events.at(-1)).toEqual({ type: 'response-end' })
    expect(foldEvents(events).usage?.input.total).toBe(2)
  })

  test('ends in an error if any candidate has no finish reason', () => {
    for (const cut of [
      [chunk([{ text: 'a' }])],
      [chunk([{ text: 'a' }], { finishReason: 'STOP' }), chunk([{ text: 'b' }], { index: 1 })],
    ])
      expect(decode(...cut).at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
    expect(decode().at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
  })

  test.each<[string, SseEvent, string]>([
    ['an error chunk', { data: '{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}' }, 'overloaded'],
    [
      'an error in a list',
      { data: '[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]' },
      'rate_limited',
    ],
    ['data that is not JSON', { data: 'oops' }, 'upstream_bad_response'],
    ['JSON that is not a response', { data: '{"this":[]}' }, 'upstream_bad_response'],
  ])('ends at %s, and nothing follows', (_, event, kind) => {
    const machine = geminiCodec.decodeStream(testContext())
    const events = [...machine.push(event), ...machine.push(sse(last)[0] as SseEvent), ...machine.end()]
    expect(events).toMatchObject([{ type: 'error', error: { kind } }])
  })

  test('joins arguments that arrive in pieces', () => {
    const piece = (jsonPath: string, value: JsonObject): JsonObject =>
      chunk([{ functionCall: { partialArgs: [{ jsonPath, ...value }], willContinue: true } }])
    expect(
      partsOf(
        chunk([{ functionCall: { name: 'f', willContinue: true }, thoughtSignature: 'S' }]),
        piece('$.city', { stringValue: 'New ', willContinue: true }),
        piece('$.city', { stringValue: 'York' }),
        piece('$.list[0].n', { numberValue: 1 }),
        piece("$.list[1]['odd key']", { boolValue: true }),
        piece('$.none', { nullValue: 'NULL_VALUE' }),
        piece('$.__proto__.x', { stringValue: 'own' }),
        chunk([{ functionCall: {} }], { finishReason: 'STOP' }),
      ),
    ).toEqual([
      {
        type: 'tool-call',
        id: 'call_1',
        name: 'f',
        input: '{"city":"New York","list":[{"n":1},{"odd key":true}],"none":null,"__proto__":{"x":"own"}}',
        seal: { issuer: 'gemini', data: 'S' },
      },
    ])
    expect(({} as JsonObject).x).toBeUndefined()
  })

  test('keeps unknown fields of chunks and of candidates', () => {
    const events = decode(
      { ...chunk([{ text: 'a' }], { safetyRatings: [1] }), createTime: 't' },
      { ...last, createTime: 't', modelStatus: { a: 1 } },
    )
    expect(events[0]).toMatchObject({ extra: { gemini: { createTime: 't' } } })
    expect(events).toContainEqual({ type: 'native', format: 'gemini', value: { modelStatus: { a: 1 } } })
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'choice-end', extra: { gemini: { safetyRatings: [1] } } }),
    )
  })
})

const start: ModelEvent = { type: 'response-start', id: 'r', model: 'm', created: 0 }
const end: ModelEvent[] = [{ type: 'choice-end', choice: 0, finish: { reason: 'stop' } }, { type: 'response-end' }]
const part = (value: Part, ...deltas: Extract<ModelEvent, { type: 'part-delta' }>['delta'][]): ModelEvent[] => [
  { type: 'part-start', choice: 0, part: 0, value },
  ...deltas.map((delta): ModelEvent => ({ type: 'part-delta', choice: 0, part: 0, delta })),
  { type: 'part-end', choice: 0, part: 0 },
]
const wireParts = (chunks: JsonObject[]): unknown[] =>
  chunks.flatMap(({ candidates }) =>
    ((candidates ?? []) as JsonObject[]).flatMap((candidate) => (candidate.content as JsonObject).parts),
  )

describe('a stream to a client', () => {
  test('has the finish reason and the usage in its last chunk only', () => {
    const usage: ModelEvent = { type: 'usage', usage: { input: { total: 3 }, output: { total: 2, reasoning: 1 } } }
    const chunks = encode(
      start,
      ...part({ type: 'text', text: '' }, { type: 'text', text: 'a' }),
      end[0] as ModelEvent,
      usage,
      end[1] as ModelEvent,
    )
    expect(chunks).toEqual([
      chunk([{ text: 'a' }]),
      {
        ...last,
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 5, thoughtsTokenCount: 1 },
      },
    ])
  })

  test('sends calls when they are complete', () => {
    const call: Part = { type: 'tool-call', id: 'x', name: 'f', input: '' }
    const chunks = encode(
      start,
      ...part(
        call,
        { type: 'input', text: '{"a"' },
        { type: 'input', text: ':1}' },
        { type: 'seal', seal: { issuer: 'gemini', data: 'S' } },
      ),
      ...end,
    )
    expect(wireParts(chunks)).toEqual([
      { functionCall: { id: 'x', name: 'f', args: { a: 1 } }, thoughtSignature: 'S' },
      { text: '' },
    ])
  })

  test('closes a thought with its signature', () => {
    const thought: Part = { type: 'reasoning', text: '' }
    const chunks = encode(
      start,
      ...part(thought, { type: 'reasoning', text: 'hm' }, { type: 'seal', seal: { issuer: 'gemini', data: 'S' } }),
      ...end,
    )
    expect(wireParts(chunks)).toEqual([
      { text: 'hm', thought: true },
      { text: '', thought: true, thoughtSignature: 'S' },
      { text: '' },
    ])
  })

  test('sends media and blocks whole, and the text of a part-start', () => {
    const image: Part = { type: 'media', kind: 'image', source: { type: 'base64', data: 'A' }, mediaType: 'image/png' }
    const native: Part = { type: 'native', format: 'gemini', value: { executableCode: { code: '1' } } }
    const chunks = encode(
      start,
      ...part({ type: 'text', text: 'x' }),
      ...part(image, { type: 'media', data: 'B' }),
      ...part(native),
      ...end,
    )
    expect(wireParts(chunks)).toEqual([
      { text: 'x' },
      { inlineData: { mimeType: 'image/png', data: 'AB' } },
      { executableCode: { code: '1' } },
      { text: '' },
    ])
  })

  test('ends in one error event with Google’s status', () => {
    const encoder = geminiCodec.encodeStream(testContext())
    encoder.push(start)
    const sent = [
      ...encoder.push({ type: 'error', error: { kind: 'overloaded', status: 503, message: 'busy', retryAfter: 4 } }),
      ...encoder.push(end[1] as ModelEvent),
      ...encoder.end(),
      ...encoder.heartbeat(),
    ]
    expect(sent.map(({ event, data }) => [event, JSON.parse(data)])).toEqual([
      [
        undefined,
        {
          error: {
            code: 503,
            message: 'busy',
            status: 'UNAVAILABLE',
            details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '4s' }],
          },
        },
      ],
    ])
  })

  test('ends in an error if its input stops early', () => {
    expect(encode(start)).toMatchObject([{ error: { code: 502, status: 'INTERNAL' } }])
  })

  test('is kept alive by empty chunks, never by comments', () => {
    const encoder = geminiCodec.encodeStream(testContext())
    expect(encoder.heartbeat().map(({ event, data }) => [event, JSON.parse(data)])).toEqual([
      [undefined, { candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0 }] }],
    ])
    encoder.push(start)
    expect(encoder.heartbeat().map(({ data }) => JSON.parse(data))).toEqual([chunk([{ text: '' }])])
    const events = run(geminiCodec.decodeStream(testContext()), [...encoder.heartbeat(), ...sse(last)])
    expect(events.map(({ type }) => type)).toEqual(['response-start', 'choice-end', 'response-end'])
  })

  test('has no empty text for the older SDK, not even around a signature', () => {
    const client = geminiCodec.clientQuirks?.((name) => (name === 'x-goog-api-client' ? 'genai-js/0.24.1' : undefined))
    const losses: string[] = []
    const report = { losses: [], add: ({ detail }: { detail: string }) => void losses.push(detail) }
    const encoder = geminiCodec.encodeStream({ ...testContext(), client, report })
    const thought: Part = { type: 'reasoning', text: 'hm', seal: { issuer: 'gemini', data: 'sig' } }
    const events: ModelEvent[] = [start, ...part(thought), ...part({ type: 'text', text: 'a' }), ...end]
    const chunks = events.flatMap((event) => [...encoder.heartbeat(), ...encoder.push(event)])
    expect(chunks.map(({ data }) => data).filter((data) => data.includes('"text":""'))).toEqual([])
    expect(JSON.parse(chunks.at(-1)?.data ?? '').candidates).toEqual([{ finishReason: 'STOP', index: 0 }])
    expect(losses).toContain("the client's SDK drops thought signatures")
    expect(geminiCodec.clientQuirks?.(() => 'google-genai-sdk/2.32.0 gl-node/v22')).toBeUndefined()
  })

  test('has a part in every chunk, which Google’s SDK requires', () => {
    const encoder = geminiCodec.encodeStream(testContext())
    const events: ModelEvent[] = [start, ...part({ type: 'text', text: '' }, { type: 'text', text: 'a' }), ...end]
    const chunks = events.flatMap((event) => [...encoder.heartbeat(), ...encoder.push(event)])
    for (const { data } of chunks) {
      const [candidate] = JSON.parse(data).candidates
      expect(candidate.content.role).toBe('model')
      expect(candidate.content.parts).toHaveLength(1)
    }
  })
})

describe('the tap', () => {
  const tapped = (...events: SseEvent[]) => {
    const tap = geminiCodec.tapStream({ withholdUsage: false, target: { model: 'm', quirks: {} } })
    for (const event of events) expect(tap.push(event)).toBe(true)
    return tap
  }

  test('repeats an error that only its event name announces', () => {
    const tap = tapped(...sse(chunk([{ text: 'a' }])))
    expect(tap.push({ event: 'error', data: '{}' })).toBe(false)
    expect(tap.error).toBeDefined()
    const own = tapped(...sse(chunk([{ text: 'a' }])), { data: '{"error":{"code":503,"message":"x"}}' })
    expect(own.error).toMatchObject({ message: 'x' })
  })

  test('has ended only at the end of the input and after a finish reason', () => {
    const whole = tapped(...sse(chunk([{ text: 'a' }]), last))
    expect([whole.started, whole.ended, whole.finish]).toEqual([true, false, 'STOP'])
    whole.end?.()
    expect(whole.ended).toBe(true)
    const cut = tapped(...sse(chunk([{ text: 'the word "finishReason":"STOP"' }])))
    cut.end?.()
    expect(cut.ended).toBe(false)
  })

  test('keeps the last usage, and distinguishes errors from text about errors', () => {
    const tap = tapped(
      ...sse(
        { ...chunk([{ text: '"error"' }]), usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 } },
        { ...last, usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 4, totalTokenCount: 5 } },
      ),
    )
    expect(tap.usage?.output.total).toBe(4)
    expect(tap.error).toBeUndefined()
    expect(tapped(...sse({ error: { code: 500, message: 'x' } })).error?.kind).toBe('upstream_error')
  })

  test('has not started on a heartbeat', () => {
    const beat = geminiCodec.encodeStream(testContext()).heartbeat()
    expect(tapped({ data: '{"usageMetadata":{}}' }, { event: ':', data: 'x' }, ...beat).started).toBe(false)
    expect(tapped(...beat, ...sse(chunk([{ text: '', thoughtSignature: 'S' }]))).started).toBe(true)
  })

  test('reads a whole response', () => {
    expect(
      geminiCodec.tapResponse({ ...last, usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 } }),
    ).toMatchObject({
      finish: 'STOP',
      usage: { input: { total: 1 } },
    })
    expect(geminiCodec.tapResponse({ promptFeedback: { blockReason: 'SAFETY' } })).toEqual({ finish: 'SAFETY' })
  })
})
