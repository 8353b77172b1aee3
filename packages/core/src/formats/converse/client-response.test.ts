import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ModelEvent, ModelResponse, Part } from '../ir.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { exchange } from './client.test-support.ts'
import { converseCodec as codec } from './index.ts'
import { streamedEvents, wholeAnswer } from './responses.test-support.ts'

/** The response without what the codec adds or leaves out because it carries nothing. */
const withoutTypes = (body: JsonObject): unknown =>
  JSON.parse(
    JSON.stringify(body)
      .replaceAll(',"type":"tool_use"', '')
      .replaceAll(/,"p":"[a-z]*"/g, ''),
  )

describe('a response', () => {
  test('of Bedrock is encoded as Bedrock sent it', () => {
    const context = exchange({ elapsedMs: () => 99 })
    const body = codec.encodeResponse(codec.decodeResponse(wholeAnswer, context), context)
    expect(body).toEqual(withoutTypes(wholeAnswer))
    expect(context.report.losses).toEqual([])
  })

  const foreign: ModelResponse = {
    id: 'resp_1',
    model: 'gpt',
    created: 1,
    choices: [
      {
        parts: [
          { type: 'reasoning', text: 'I think.', seal: { issuer: 'responses', data: 'enc' } },
          { type: 'reasoning', text: '', redacted: true, seal: { issuer: 'messages', data: 'red' } },
          {
            type: 'text',
            text: 'Rain.',
            citations: [{ url: 'https://example.com/a', title: 'Example', text: 'rain' }],
          },
          {
            type: 'tool-call',
            id: 'call_1',
            name: 'weather',
            input: '{"n":12345678901234567890}',
            seal: { issuer: 'gemini', data: 'c2VhbA==' },
          },
          { type: 'media', kind: 'image', source: { type: 'base64', data: 'iVBORw0KGgo=' }, mediaType: 'image/png' },
        ],
        finish: { reason: 'tool-calls' },
      },
    ],
    usage: {
      input: { total: 100, cacheRead: 40, cacheWrite: 20, cacheWrite1h: 5 },
      output: { total: 10, reasoning: 4 },
    },
    serviceTier: 'flex',
  }
  const encoded = {
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'I think.', signature: 'mgs1.responses.enc' } } },
          { reasoningContent: { redactedContent: btoa('mgs1.messages.red') } },
          {
            citationsContent: {
              content: [{ text: 'Rain.' }],
              citations: [
                {
                  title: 'Example',
                  sourceContent: [{ text: 'rain' }],
                  location: { web: { url: 'https://example.com/a', domain: 'example.com' } },
                },
              ],
            },
          },
          { reasoningContent: { reasoningText: { text: '', signature: 'mgs1.gemini.@call:call_1:c2VhbA==' } } },
          { toolUse: { toolUseId: 'call_1', name: 'weather', input: { n: 12345678901234567890n } } },
          { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
        ],
      },
    },
    stopReason: 'tool_use',
    usage: {
      inputTokens: 40,
      outputTokens: 10,
      totalTokens: 110,
      cacheReadInputTokens: 40,
      cacheWriteInputTokens: 20,
      cacheDetails: [
        { ttl: '1h', inputTokens: 5 },
        { ttl: '5m', inputTokens: 15 },
      ],
    },
    metrics: { latencyMs: 12 },
    serviceTier: { type: 'flex' },
  }

  test('of another format is encoded with its seals, its citations and the measured latency', () => {
    const body = codec.encodeResponse(foreign, exchange({ elapsedMs: () => 12.3 }))
    const { toolUse } = (body as unknown as typeof encoded).output.message.content[4] as {
      toolUse: { input: { n: unknown } }
    }
    // Numbers keep their digits.
    expect(JSON.stringify(toolUse.input.n)).toBeDefined()
    toolUse.input.n = 12345678901234567890n
    expect(body).toEqual(encoded)
  })

  test('without usage and with an unknown end is a whole response', () => {
    const { usage: _, serviceTier: _tier, ...rest } = foreign
    const choices = [{ parts: [{ type: 'text' as const, text: 'Hm.' }], finish: { reason: 'other' as const } }]
    expect(codec.encodeResponse({ ...rest, choices }, exchange())).toEqual({
      output: { message: { role: 'assistant', content: [{ text: 'Hm.' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
      metrics: { latencyMs: 0 },
    })
  })

  test('that ended in an error of another upstream is an error', () => {
    const choices = [{ parts: [], finish: { reason: 'error' as const, explanation: 'It broke.' } }]
    expect(() => codec.encodeResponse({ ...foreign, choices }, exchange())).toThrow('It broke.')
  })
})

const toEvents = (wire: typeof streamedEvents): SseEvent[] =>
  wire.map(([event, data]) => ({ event, data: JSON.stringify(data) }))

function throughStream(wire: readonly SseEvent[], context = exchange()): SseEvent[] {
  const decode = codec.decodeStream(context)
  const encode = codec.encodeStream(context)
  const events: ModelEvent[] = [...wire.flatMap((event) => decode.push(event)), ...decode.end()]
  return [...events.flatMap((event) => encode.push(event)), ...encode.end()]
}

describe('a stream', () => {
  const again = throughStream(toEvents(streamedEvents))

  test('of Bedrock is encoded with the same content in the same blocks', () => {
    const fold = (wire: readonly SseEvent[]): unknown => {
      const machine = codec.decodeStream(exchange())
      return foldEvents([...wire.flatMap((event) => machine.push(event)), ...machine.end()])
    }
    expect(fold(again)).toEqual(fold(toEvents(streamedEvents)))
    const indexes = again.flatMap(({ event, data }) =>
      event === 'contentBlockStop' ? [(JSON.parse(data) as { contentBlockIndex: number }).contentBlockIndex] : [],
    )
    expect(indexes).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('begins with messageStart and ends with messageStop and metadata', () => {
    expect([again[0], ...again.slice(-2)].map((event) => event?.event)).toEqual([
      'messageStart',
      'messageStop',
      'metadata',
    ])
    expect(JSON.parse(again.at(-1)?.data ?? '')).toMatchObject({
      usage: { inputTokens: 433, totalTokens: 3211 },
      metrics: {},
    })
  })

  test('writes overlapping parts one after another', () => {
    const encode = codec.encodeStream(exchange())
    const call = (id: string): Part => ({ type: 'tool-call', id, name: 'weather', input: '' })
    const input = (part: number, text: string): ModelEvent => ({
      type: 'part-delta',
      choice: 0,
      part,
      delta: { type: 'input', text },
    })
    const events: ModelEvent[] = [
      { type: 'response-start', id: '', model: '', created: 0 },
      { type: 'part-start', choice: 0, part: 0, value: call('a') },
      { type: 'part-start', choice: 0, part: 1, value: call('b') },
      input(1, '{"b":1}'),
      input(0, '{"a":'),
      input(0, '1}'),
      { type: 'part-end', choice: 0, part: 1 },
      { type: 'part-end', choice: 0, part: 0 },
      { type: 'choice-end', choice: 0, finish: { reason: 'stop' } },
      { type: 'response-end' },
    ]
    const written = events.flatMap((event) => encode.push(event))
    expect(written.map(({ event, data }) => [event, JSON.parse(data)])).toEqual([
      ['messageStart', { role: 'assistant' }],
      ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'a', name: 'weather' } } }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '{"a":' } } }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '1}' } } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['contentBlockStart', { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'b', name: 'weather' } } }],
      ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"b":1}' } } }],
      ['contentBlockStop', { contentBlockIndex: 1 }],
      ['messageStop', { stopReason: 'tool_use' }],
      ['metadata', { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, metrics: { latencyMs: 0 } }],
    ])
  })

  test('that fails ends with one exception', () => {
    const wire = throughStream([
      ...toEvents(streamedEvents.slice(0, 3)),
      { event: 'throttlingException', data: '{"message":"Slow down."}' },
    ])
    expect(wire.at(-1)).toEqual({ event: 'throttlingException', data: '{"message":"Slow down."}' })
    expect(wire.map(({ event }) => event)).not.toContain('messageStop')
  })

  test('is kept alive by an empty delta of the open block, or else by its framing', () => {
    const encode = codec.encodeStream(exchange())
    const events = (): string[] => encode.heartbeat().map(({ event, data }) => `${event} ${data}`)
    expect(events()).toEqual(['messageStart {"role":"assistant"}'])
    encode.push({ type: 'part-start', choice: 0, part: 0, value: { type: 'text', text: '' } })
    encode.push({ type: 'part-delta', choice: 0, part: 0, delta: { type: 'text', text: 'Hi' } })
    expect(events()).toEqual(['contentBlockDelta {"contentBlockIndex":0,"delta":{"text":""}}'])
    encode.push({ type: 'part-end', choice: 0, part: 0 })
    expect(events()).toEqual([])
  })
})

describe('an error', () => {
  it.each([
    ['invalid_request', 400, 'ValidationException'],
    ['authentication', 403, 'UnrecognizedClientException'],
    ['permission', 403, 'AccessDeniedException'],
    ['model_not_found', 404, 'ResourceNotFoundException'],
    ['rate_limited', 429, 'ThrottlingException'],
    ['quota_exceeded', 400, 'ServiceQuotaExceededException'],
    ['overloaded', 503, 'ServiceUnavailableException'],
    ['upstream_error', 424, 'ModelErrorException'],
    ['upstream_timeout', 408, 'ModelTimeoutException'],
    ['internal', 500, 'InternalServerException'],
  ] as const)('of the kind %s has the status %d and the name %s, and is read as that kind', (kind, status, name) => {
    const encoded = codec.encodeError({ kind, status: 400, message: 'It did not work.' }, 'req_1')
    expect(encoded).toEqual({
      status,
      headers: { 'x-amzn-errortype': name },
      body: { message: 'It did not work.' },
    })
    const read = codec.decodeError(status, encoded.body, (header) => (header === 'x-amzn-errortype' ? name : undefined))
    expect(read.kind).toBe(kind === 'internal' ? 'upstream_error' : kind)
  })

  test('about the length of the prompt has the sentence that clients look for', () => {
    const info = { kind: 'context_length_exceeded', status: 400, message: 'Too long.' } as const
    expect(codec.encodeError(info, '').body).toEqual({ message: 'Input is too long for requested model. Too long.' })
  })
})
