import { describe, expect, it, test } from 'vitest'
import { concatBytes } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { createSseDecoder } from '../../http/sse/decode.ts'
import { framesToEvents } from '../../upstreams/aws/bedrock-events.ts'
import { exceptionFrame, inPieces } from '../../upstreams/aws/frames.test-support.ts'
import { codecs } from '../codecs.ts'
import type { ModelEvent, ModelRequest, ModelResponse, Part } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { foldEvents } from '../shared/fold.test-support.ts'
import { converseCodec } from './index.ts'
import { streamedBytes, streamedEvents, streamedFrames, wholeAnswer } from './responses.test-support.ts'

const plain: ModelRequest = { model: 'm', turns: [], stream: false }
const contextFor = (request = plain) => ({
  report: createReport(),
  newId: (prefix: string) => `${prefix}1`,
  now: () => 1,
  request,
  target: { model: 'm', quirks: {} },
})
const decode = (body: JsonObject, request = plain): ModelResponse =>
  converseCodec.decodeResponse(structuredClone(body), contextFor(request))

/** A stream's events, from the bytes as they come off the wire. */
async function decodeBytes(bytes: Uint8Array, size: number, request = plain): Promise<ModelEvent[]> {
  const sse = createSseDecoder(1_000_000)
  const machine = converseCodec.decodeStream(contextFor(request))
  const events: ModelEvent[] = []
  try {
    for await (const piece of framesToEvents(inPieces(bytes, size), (event, data) => ({ event, data })))
      for (const event of sse.push(piece)) events.push(...machine.push(event))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return [...events, { type: 'error', error: error.info }]
  }
  return [...events, ...machine.end()]
}
const run = (events: readonly (readonly [string, JsonObject])[], request = plain): ModelEvent[] => {
  const machine = converseCodec.decodeStream(contextFor(request))
  return [...events.flatMap(([event, data]) => machine.push({ event, data: JSON.stringify(data) })), ...machine.end()]
}
/** Only a whole answer says where its parts stand. */
const unplaced = (response: ModelResponse): ModelResponse => ({
  ...response,
  choices: response.choices.map(({ extra: _, ...choice }) => ({
    ...choice,
    parts: choice.parts.map(({ at: _at, ...part }) => part as Part),
  })),
})

describe('an answer', () => {
  test('is read whole', () => {
    const [choice] = decode(wholeAnswer).choices
    expect(choice?.parts.map(({ at: _, ...part }) => part)).toEqual([
      { type: 'reasoning', text: 'Let me see.', seal: { issuer: 'converse', data: 'c2lnbmVk' } },
      { type: 'reasoning', text: '', redacted: true, seal: { issuer: 'converse', data: 'cmVkYWN0ZWQ=' } },
      { type: 'text', text: 'I look it up: Grüße 🙂' },
      {
        type: 'text',
        text: 'Oslo is rainy.',
        citations: [
          { url: 'https://example.com/w', title: 'Weather', text: 'rainy' },
          {
            title: 'Doc',
            extra: { converse: { location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } } },
          },
        ],
      },
      { type: 'tool-call', id: 'tooluse_1', name: 'weather', input: '{"city":"Oslo"}' },
      { type: 'tool-call', id: 'tooluse_2', name: 'time', input: '{}' },
      expect.objectContaining({ type: 'native', format: 'converse' }),
      expect.objectContaining({ type: 'native', format: 'converse' }),
      { type: 'media', kind: 'image', source: { type: 'base64', data: 'AAECAwQF' }, mediaType: 'image/png' },
    ])
    expect(choice?.finish).toEqual({ reason: 'tool-calls', raw: { format: 'converse', value: 'tool_use' } })
    expect(choice?.parts[2]?.at).toBe('/output/message/content/2')
  })

  test('counts its cache within its input', () => {
    expect(decode(wholeAnswer).usage).toEqual({
      input: { total: 3195, cacheRead: 2752, cacheWrite: 10, cacheWrite1h: 4 },
      output: { total: 16 },
      raw: { format: 'converse', value: wholeAnswer.usage },
    })
  })

  test('and its stream add up to the same', () => {
    expect(unplaced(foldEvents(run(streamedEvents)))).toEqual(unplaced(decode(wholeAnswer)))
  })

  test.each(codecs)('reaches clients of $format, or the report says what does not', (client) => {
    const context = contextFor()
    const body = client.encodeResponse(decode(wholeAnswer), context)
    expect(JSON.stringify(body)).toContain('Oslo is rainy.')
    expect(JSON.stringify(body)).toContain('tooluse_1')
    // The two blocks of the server's own tool, and the measurements.
    const told = context.report.losses.map(({ path }) => path)
    expect(told).toEqual(
      expect.arrayContaining(['/output/message/content/6', '/output/message/content/7', '/choices/0/metrics']),
    )
  })

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop-sequence'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'context-length'],
    ['guardrail_intervened', 'content-filter'],
    ['content_filtered', 'content-filter'],
    ['malformed_tool_use', 'error'],
    ['word_of_tomorrow', 'other'],
  ])('that ended with %s ended with %s', (stopReason, reason) => {
    expect(decode({ ...wholeAnswer, stopReason }).choices[0]?.finish).toMatchObject({
      reason,
      raw: { format: 'converse', value: stopReason },
    })
  })

  test('says which sequence ended it, where that was asked for', () => {
    const additionalModelResponseFields = { stop_sequence: 'END', other: 1 }
    const [choice] = decode({ ...wholeAnswer, stopReason: 'stop_sequence', additionalModelResponseFields }).choices
    expect(choice?.finish.sequence).toBe('END')
    expect(choice?.extra?.converse?.additionalModelResponseFields).toEqual({ other: 1 })
  })

  it.each<[JsonObject]>([[{}], [{ output: {} }], [{ output: { message: {} } }]])(
    'that is none (%j) is an error',
    (body) => {
      expect(() => decode(body)).toThrow(expect.objectContaining({ name: 'GatewayError' }))
    },
  )

  test('keeps a block of tomorrow whole', () => {
    const block = { hologram: { data: 'x' } }
    const body = { output: { message: { content: [block] } }, stopReason: 'end_turn' }
    expect(decode(body).choices[0]?.parts).toEqual([
      { type: 'native', format: 'converse', value: block, at: '/output/message/content/0' },
    ])
  })

  test('calls a tool by the client’s own name, and one of free text by its text', () => {
    const name = 'a.tool/with signs'
    const request: ModelRequest = {
      ...plain,
      tools: {
        list: [
          { type: 'function', name },
          { type: 'custom', name: 'shell' },
        ],
      },
    }
    const context = contextFor(request)
    const sent = converseCodec.encodeRequest(request, context) as {
      toolConfig: { tools: { toolSpec: { name: string } }[] }
    }
    const short = sent.toolConfig.tools[0]?.toolSpec.name ?? ''
    const content = [
      { toolUse: { toolUseId: '1', name: short, input: {} } },
      { toolUse: { toolUseId: '2', name: 'shell', input: { input: 'ls' } } },
    ]
    const calls = [
      { id: '1', name, input: '{}' },
      { id: '2', name: 'shell', input: 'ls', custom: true },
    ]
    expect(
      decode({ output: { message: { content } }, stopReason: 'tool_use' }, request).choices[0]?.parts,
    ).toMatchObject(calls)
    const events = content.flatMap(({ toolUse: { input, ...toolUse } }, contentBlockIndex): [string, JsonObject][] => [
      ['contentBlockStart', { contentBlockIndex, start: { toolUse } }],
      ['contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input: JSON.stringify(input) } } }],
      ['contentBlockStop', { contentBlockIndex }],
    ])
    expect(foldEvents(run([['messageStart', {}], ...events], request)).choices[0]?.parts).toMatchObject(calls)
  })
})

describe('a stream', () => {
  test('is the same at any split of its bytes', async () => {
    const whole = await decodeBytes(streamedBytes, streamedBytes.length)
    expect(whole).toEqual(run(streamedEvents))
    expect(whole.at(-1)).toEqual({ type: 'response-end' })
    for (const size of [1, 2, 3, 7, 16, 61, 333]) expect(await decodeBytes(streamedBytes, size)).toEqual(whole)
  })

  test('that is cut anywhere is truncated, and never ends well', async () => {
    for (let length = 0; length < streamedBytes.length; length += 5) {
      const events = await decodeBytes(streamedBytes.subarray(0, length), 97)
      expect(events.filter(({ type }) => type === 'response-end')).toEqual([])
      expect(events.at(-1), String(length)).toMatchObject({ type: 'error', error: { kind: 'upstream_truncated' } })
    }
    for (let frames = 0; frames < streamedFrames.length; frames++)
      expect((await decodeBytes(concatBytes(streamedFrames.slice(0, frames)), 97)).at(-1)).toMatchObject({
        type: 'error',
        error: { kind: 'upstream_truncated' },
      })
  })

  test('with an exception in its middle is the error that it is, and nothing behind it counts', async () => {
    for (let frames = 0; frames <= 12; frames += 3) {
      const broken = exceptionFrame('throttlingException', { message: 'Too many requests' })
      const bytes = concatBytes([...streamedFrames.slice(0, frames), broken, ...streamedFrames.slice(frames)])
      const events = await decodeBytes(bytes, 50)
      expect(events.filter(({ type }) => type === 'error')).toHaveLength(1)
      expect(events.at(-1)).toMatchObject({
        type: 'error',
        error: { kind: 'rate_limited', message: 'Too many requests' },
      })
    }
  })

  it.each<[string, readonly (readonly [string, JsonObject])[]]>([
    ['begins with something else', [['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'x' } }]]],
    [
      'begins twice',
      [
        ['messageStart', {}],
        ['messageStart', {}],
      ],
    ],
    [
      'ends without a reason',
      [
        ['messageStart', {}],
        ['metadata', {}],
      ],
    ],
  ])('that %s is no answer', (_, events) => {
    expect(run(events).at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_bad_response' } })
  })

  test('keeps events and blocks of tomorrow', () => {
    const events = run([
      ['messageStart', {}],
      ['weather', { sun: true }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { hologram: 'x' } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['messageStop', { stopReason: 'end_turn' }],
      ['metadata', {}],
    ])
    expect(events).toContainEqual({ type: 'native', format: 'converse', value: { weather: { sun: true } } })
    expect(foldEvents(events).choices[0]?.parts).toEqual([
      { type: 'native', format: 'converse', value: { hologram: 'x' } },
    ])
  })
})

describe('an error', () => {
  const header = (name: string) => (wanted: string) => (wanted === 'x-amzn-errortype' ? name : undefined)
  it.each([
    [400, 'ValidationException:http://internal.amazon.com/coral/', 'Bad', 'invalid_request'],
    [400, 'ValidationException', 'Input is too long for requested model.', 'context_length_exceeded'],
    [400, 'ValidationException', 'The provided model identifier is invalid.', 'model_not_found'],
    [400, 'ServiceQuotaExceededException', 'Quota', 'quota_exceeded'],
    [403, 'AccessDeniedException', 'No', 'permission'],
    [403, 'UnrecognizedClientException', 'No', 'authentication'],
    [404, 'ResourceNotFoundException', 'No', 'model_not_found'],
    [408, 'ModelTimeoutException', 'Slow', 'upstream_timeout'],
    [424, 'ModelErrorException', 'Broke', 'upstream_error'],
    [429, 'ThrottlingException', 'Too many requests', 'rate_limited'],
    [429, 'ThrottlingException', 'Too many tokens per day', 'quota_exceeded'],
    [429, 'ModelNotReadyException', 'Loading', 'overloaded'],
    [500, 'InternalServerException', 'Oops', 'upstream_error'],
    [503, 'ServiceUnavailableException', 'Later', 'overloaded'],
    [424, undefined, 'Broke', 'upstream_error'],
    [429, undefined, 'Too many requests', 'rate_limited'],
    [418, undefined, 'Teapot', 'invalid_request'],
    [502, undefined, 'Proxy', 'upstream_error'],
  ])('%i %s (%s) is %s', (status, name, message, kind) => {
    const read = converseCodec.decodeError(status, { message }, name === undefined ? undefined : header(name))
    expect(read).toMatchObject({ kind, message })
  })

  it.each([
    [{ __type: 'com.amazon#ThrottlingException', message: 'Slow' }, 'rate_limited', 'Slow'],
    [{ Message: 'User is not authorized' }, 'invalid_request', 'User is not authorized'],
    ['plain words', 'invalid_request', 'plain words'],
    ['<html>', 'invalid_request', 'The upstream answered 400 without saying why.'],
    [null, 'invalid_request', 'The upstream answered 400 without saying why.'],
  ])('as %j is understood without headers', (body, kind, message) => {
    expect(converseCodec.decodeError(400, body)).toMatchObject({ kind, message })
  })

  test('in place of an answer is one', () => {
    expect(() => decode({ message: 'Broke', __type: 'ModelErrorException' })).toThrow(
      expect.objectContaining({ info: expect.objectContaining({ kind: 'upstream_error', message: 'Broke' }) }),
    )
  })
})
