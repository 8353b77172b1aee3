import { describe, expect, it, test } from 'vitest'
import { concatBytes } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { exceptionFrame, inPieces } from '../../http/frames/frames.test-support.ts'
import { namedFrames } from '../../http/framing/event-frames.ts'
import { createSseDecoder } from '../../http/sse/sse.ts'
import { framesToEvents } from '../../upstreams/aws/bedrock-events.ts'
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

/** Returns the events of a stream from its bytes. */
async function decodeBytes(bytes: Uint8Array, size: number, request = plain): Promise<ModelEvent[]> {
  const sse = createSseDecoder(1_000_000)
  const machine = converseCodec.decodeStream(contextFor(request))
  const events: ModelEvent[] = []
  try {
    for await (const piece of framesToEvents(inPieces(bytes, size), namedFrames))
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
/** Removes the pointers of parts, which only whole responses have. */
const unplaced = (response: ModelResponse): ModelResponse => ({
  ...response,
  choices: response.choices.map(({ extra: _, ...choice }) => ({
    ...choice,
    parts: choice.parts.map(({ at: _at, ...part }) => part as Part),
  })),
})

describe('responses', () => {
  test('are decoded with all their content', () => {
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

  test('count cached tokens as part of the input', () => {
    expect(decode(wholeAnswer).usage).toEqual({
      input: { total: 3195, cacheRead: 2752, cacheWrite: 10, cacheWrite1h: 4 },
      output: { total: 16 },
      raw: { format: 'converse', value: wholeAnswer.usage },
      billed: { tier: 'flex' },
    })
  })

  test('and their streams decode to the same content', () => {
    expect(unplaced(foldEvents(run(streamedEvents)))).toEqual(unplaced(decode(wholeAnswer)))
  })

  test.each(codecs)('reach clients of $format with all content carried or reported', (client) => {
    const context = contextFor()
    const body = client.encodeResponse(decode(wholeAnswer), context)
    expect(JSON.stringify(body)).toContain('Oslo is rainy.')
    expect(JSON.stringify(body)).toContain('tooluse_1')
    // The two blocks of Bedrock's own tool, and the metrics.
    const lost = ['/output/message/content/6', '/output/message/content/7', '/choices/0/metrics']
    const paths = context.report.losses.map(({ path }) => path)
    expect(paths).toEqual(client.format === 'converse' ? [] : expect.arrayContaining(lost))
  })

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop-sequence'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'context-length'],
    ['guardrail_intervened', 'content-filter'],
    ['content_filtered', 'content-filter'],
    ['malformed_tool_use', 'error'],
    ['unknown_reason', 'other'],
  ])('decode the stop reason %s as %s', (stopReason, reason) => {
    expect(decode({ ...wholeAnswer, stopReason }).choices[0]?.finish).toMatchObject({
      reason,
      raw: { format: 'converse', value: stopReason },
    })
  })

  test('contain the stop sequence if it was requested', () => {
    const additionalModelResponseFields = { stop_sequence: 'END', other: 1 }
    const [choice] = decode({ ...wholeAnswer, stopReason: 'stop_sequence', additionalModelResponseFields }).choices
    expect(choice?.finish.sequence).toBe('END')
    expect(choice?.extra?.converse?.additionalModelResponseFields).toEqual({ other: 1 })
  })

  it.each<[JsonObject]>([[{}], [{ output: {} }], [{ output: { message: {} } }]])(
    'are rejected if they contain no message: %j',
    (body) => {
      expect(() => decode(body)).toThrow(expect.objectContaining({ name: 'GatewayError' }))
    },
  )

  test('keep a block of an unknown kind unchanged', () => {
    const block = { hologram: { data: 'x' } }
    const body = { output: { message: { content: [block] } }, stopReason: 'end_turn' }
    expect(decode(body).choices[0]?.parts).toEqual([
      { type: 'native', format: 'converse', value: block, at: '/output/message/content/0' },
    ])
  })

  test("restore the client's name of a tool, and the text of a custom tool", () => {
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

describe('streams', () => {
  test('decode to the same events at any split of their bytes', async () => {
    const whole = await decodeBytes(streamedBytes, streamedBytes.length)
    expect(whole).toEqual(run(streamedEvents))
    expect(whole.at(-1)).toEqual({ type: 'response-end' })
    for (const size of [1, 2, 3, 7, 16, 61, 333]) expect(await decodeBytes(streamedBytes, size)).toEqual(whole)
  })

  test('are reported as truncated wherever they are cut', async () => {
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

  test('end at an exception with its error', async () => {
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
    ['does not begin with messageStart', [['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'x' } }]]],
    [
      'begins twice',
      [
        ['messageStart', {}],
        ['messageStart', {}],
      ],
    ],
    [
      'ends without a stop reason',
      [
        ['messageStart', {}],
        ['metadata', {}],
      ],
    ],
  ])('are rejected if the stream %s', (_, events) => {
    expect(run(events).at(-1)).toMatchObject({ type: 'error', error: { kind: 'upstream_bad_response' } })
  })

  test('keep events and blocks of unknown kinds', () => {
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

describe('errors', () => {
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
  ])('of status %i with the exception %s and the message %s are decoded as %s', (status, name, message, kind) => {
    const read = converseCodec.decodeError(status, { message }, name === undefined ? undefined : header(name))
    expect(read).toMatchObject({ kind, message })
  })

  it.each([
    [{ __type: 'com.amazon#ThrottlingException', message: 'Slow' }, 'rate_limited', 'Slow'],
    [{ Message: 'User is not authorized' }, 'invalid_request', 'User is not authorized'],
    ['plain words', 'invalid_request', 'plain words'],
    ['<html>', 'invalid_request', 'The upstream responded with status 400 and no error message.'],
    [null, 'invalid_request', 'The upstream responded with status 400 and no error message.'],
  ])('are decoded without headers: %j', (body, kind, message) => {
    expect(converseCodec.decodeError(400, body)).toMatchObject({ kind, message })
  })

  test('are recognised in place of a response', () => {
    expect(() => decode({ message: 'Broke', __type: 'ModelErrorException' })).toThrow(
      expect.objectContaining({ info: expect.objectContaining({ kind: 'upstream_error', message: 'Broke' }) }),
    )
  })
})
