import { describe, expect, it, test } from 'vitest'
import { concatBytes } from '../../base/bytes.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { GatewayConfig } from '../../config/config.ts'
import {
  type Answer,
  asJson,
  asStream,
  chunk,
  completion,
  message,
  setUp,
} from '../../gateway/create-gateway.test-support.ts'
import { createFrameDecoder, type EventFrame } from '../../http/frames/frame-decoder.ts'
import { chunkFrame, eventFrame, exceptionFrame } from '../../http/frames/frames.test-support.ts'
import { bedrock } from '../../upstreams/bedrock.ts'

const host = 'bedrock-runtime.us-east-1.amazonaws.com'
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const secret = 'bedrock-canary-key'

const setUpBedrock = (answers: { readonly [host: string]: Answer }, config: Partial<GatewayConfig> = {}) =>
  setUp(answers, {
    upstreams: { b: bedrock({ region: 'us-east-1', apiKey: secret }) },
    models: { '*': 'b' },
    retry: false,
    ...config,
  })

/** Bytes as Bedrock streams them, in chunks that do not match frames. */
const asFrames =
  (frames: readonly Uint8Array[], size = 50): Answer =>
  () => {
    let rest = concatBytes(frames)
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (rest.length === 0) controller.close()
        else controller.enqueue(rest.slice(0, size))
        rest = rest.subarray(size)
      },
    })
    return new Response(body, { headers: { 'content-type': 'application/vnd.amazon.eventstream' } })
  }

const framesOf = (bytes: Uint8Array): EventFrame[] => {
  const decoder = createFrameDecoder(1e6)
  decoder.push(bytes)
  const frames: EventFrame[] = []
  for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) frames.push(frame)
  expect(decoder.heldBytes()).toBe(0)
  return frames
}

const bytesOf = async (response: Response): Promise<Uint8Array> => new Uint8Array(await response.arrayBuffer())

interface Read {
  type: string
  data: unknown
}
/** The events of a stream. Chunks are unwrapped. */
const eventsOf = async (response: Response): Promise<Read[]> =>
  framesOf(await bytesOf(response)).map(({ headers, payload }) => {
    const data = JSON.parse(new TextDecoder().decode(payload)) as { bytes?: string }
    const type = headers[':event-type'] ?? headers[':exception-type'] ?? ''
    return {
      type,
      data: data.bytes === undefined ? data : (JSON.parse(Buffer.from(data.bytes, 'base64').toString()) as unknown),
    }
  })

const usage = { inputTokens: 3, outputTokens: 1, totalTokens: 4 }
const conversed = {
  output: { message: { role: 'assistant', content: [{ text: 'hello' }] } },
  stopReason: 'end_turn',
  usage,
  metrics: { latencyMs: 1 },
}
const converseFrames = [
  eventFrame('messageStart', { role: 'assistant', p: 'ab' }),
  eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hel' }, p: 'abc' }),
  eventFrame('eventOfTomorrow', { a: 1 }),
  eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'lo' } }),
  eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
  eventFrame('messageStop', { stopReason: 'end_turn' }),
  eventFrame('metadata', { usage, metrics: { latencyMs: 1 } }),
]
const claudeEvents = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 3 } },
]

const hi = [{ role: 'user', content: [{ text: 'hi' }] }]
const pathTo = (model: string, action: string): string => `/model/${encodeURIComponent(model)}/${action}`
/** A body with white space and an integer that no double can hold, to see whether it passes unchanged. */
const odd = `{ "messages": [ {"role":"user","content":[{"text":"hi"}]} ],\n "additionalModelRequestFields": {"n": 12345678901234567890} }`

describe('a client of Converse with an upstream of Bedrock', () => {
  it.each([
    claude,
    'amazon.nova-lite-v1:0',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0',
  ])('sends and receives every byte unchanged: %s', async (model) => {
    const reply = JSON.stringify(conversed).replace('{', '{ ')
    const { post, seen, finished } = setUpBedrock({
      [host]: () => new Response(reply, { headers: { 'content-type': 'application/json' } }),
    })
    const response = await post(pathTo(model, 'converse'), odd)
    expect([response.status, await response.text()]).toEqual([200, reply])
    expect(response.headers.get('modelgate-loss')).toBeNull()
    expect(response.headers.get('x-amzn-requestid')).toMatch(/^req_/)
    expect(seen).toMatchObject([{ url: `https://${host}${pathTo(model, 'converse')}`, body: odd }])
    expect(finished).toMatchObject([
      {
        lane: 'wire',
        format: 'converse',
        model,
        usage: { input: { total: 3 }, output: { total: 1 } },
        finish: 'end_turn',
      },
    ])
  })

  test('names the upstream’s model in the path only', async () => {
    const { post, seen } = setUpBedrock(
      { [host]: asJson(conversed) },
      { models: { mine: { upstream: 'b', model: claude } } },
    )
    await post(pathTo('mine', 'converse'), odd)
    expect(seen).toMatchObject([{ url: `https://${host}${pathTo(claude, 'converse')}`, body: odd }])
  })

  it.each([1, 7, 50, 10_000])('gets its frames untouched, in chunks of %i bytes', async (size) => {
    const { post, finished } = setUpBedrock({ [host]: asFrames(converseFrames, size) })
    const response = await post(pathTo(claude, 'converse-stream'), odd)
    expect(response.headers.get('content-type')).toBe('application/vnd.amazon.eventstream')
    expect(await bytesOf(response)).toEqual(concatBytes(converseFrames))
    expect(finished).toMatchObject([
      { outcome: 'finished', lane: 'wire', usage: { input: { total: 3 }, output: { total: 1 } }, finish: 'end_turn' },
    ])
  })

  test('gets the exception of a stream, after which nothing follows', async () => {
    const failing = exceptionFrame('throttlingException', { message: 'Slow down.', extra: 1 })
    const frames = [...converseFrames.slice(0, 2), failing]
    const { post, finished } = setUpBedrock({ [host]: asFrames([...frames, ...converseFrames.slice(2)]) })
    const response = await post(pathTo(claude, 'converse-stream'), odd)
    expect(await bytesOf(response)).toEqual(concatBytes(frames))
    expect(finished).toMatchObject([{ outcome: 'failed', error: { kind: 'rate_limited' } }])
  })

  test('gets an exception for a stream that is cut off, even within a frame', async () => {
    const whole = concatBytes(converseFrames)
    for (const length of [concatBytes(converseFrames.slice(0, 4)).length, whole.length - 3]) {
      const { post, finished } = setUpBedrock({ [host]: asFrames([whole.slice(0, length)]) })
      const events = await eventsOf(await post(pathTo(claude, 'converse-stream'), odd))
      expect(events.at(-1)).toMatchObject({ type: 'modelStreamErrorException', data: { message: expect.any(String) } })
      expect(events.map(({ type }) => type)).not.toContain('metadata')
      expect(finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_truncated' } } }])
    }
  })

  test('gets an exception for a frame with a wrong checksum', async () => {
    const bad = concatBytes(converseFrames).slice()
    const at = concatBytes(converseFrames.slice(0, 3)).length + 40
    bad[at] = (bad[at] as number) ^ 1
    const { post } = setUpBedrock({ [host]: asFrames([bad]) })
    const events = await eventsOf(await post(pathTo(claude, 'converse-stream'), odd))
    expect(events.map(({ type }) => type)).toEqual([
      'messageStart',
      'contentBlockDelta',
      'eventOfTomorrow',
      'modelStreamErrorException',
    ])
  })

  test('is shown no credential of the gateway, wherever the upstream puts it', async () => {
    const leaky = [
      converseFrames[0] as Uint8Array,
      eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hi' }, debug: secret }),
      eventFrame(`debug-${secret}`, {}),
      exceptionFrame('accessDeniedException', { message: `The key ${secret} may not do that.` }),
    ]
    const { post } = setUpBedrock({ [host]: asFrames(leaky) })
    const text = new TextDecoder().decode(await bytesOf(await post(pathTo(claude, 'converse-stream'), odd)))
    expect(text).toContain('contentBlockDelta')
    expect(text).not.toContain(secret)
    expect(text).not.toContain('may not do that')
  })

  test('gets errors as AWS sends them', async () => {
    const { post } = setUpBedrock({
      [host]: asJson(
        { message: 'The field is wrong.' },
        { status: 400, headers: { 'x-amzn-errortype': 'ValidationException:http://x/' } },
      ),
    })
    const response = await post(pathTo(claude, 'converse'), odd)
    expect([response.status, response.headers.get('x-amzn-errortype'), await response.json()]).toEqual([
      400,
      'ValidationException',
      { message: 'The field is wrong.' },
    ])
  })

  test('may not refer to objects in S3 or to guardrails of others', async () => {
    const { post, seen } = setUpBedrock({ [host]: asJson(conversed) })
    const image = { image: { format: 'png', source: { s3Location: { uri: 's3://theirs/cat.png' } } } }
    for (const [body, param] of [
      [{ messages: [{ role: 'user', content: [image] }] }, 's3Location'],
      [{ messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 'a', content: [image] } }] }] }, 's3Location'],
      [{ messages: hi, guardrailConfig: { guardrailIdentifier: 'g1', guardrailVersion: '1' } }, 'guardrail'],
    ] as const) {
      const response = await post(pathTo(claude, 'converse'), body)
      expect(response.status).toBe(400)
      expect(((await response.json()) as { message: string }).message).toContain(param)
    }
    expect(seen).toEqual([])
    const open = setUpBedrock({ [host]: asJson(conversed) }, { references: { files: 'pass', guardrails: 'pass' } })
    expect(
      (await open.post(pathTo(claude, 'converse'), { messages: [{ role: 'user', content: [image] }] })).status,
    ).toBe(200)
  })
})

describe('a client of Converse with an upstream of chat', () => {
  const model = 'real'

  test('gets a translated response', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const response = await post(pathTo(model, 'converse'), {
      system: [{ text: 'Be brief.' }],
      messages: hi,
      inferenceConfig: { maxTokens: 10 },
    })
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({
      model: 'real',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      max_completion_tokens: 10,
    })
    expect(await response.json()).toEqual({
      output: { message: { role: 'assistant', content: [{ text: 'hello' }] } },
      stopReason: 'end_turn',
      usage,
      metrics: { latencyMs: expect.any(Number) },
    })
  })

  test('gets a translated stream in frames', async () => {
    const { post } = setUp({
      a: asStream([
        chunk({ role: 'assistant', content: 'hel' }),
        chunk({ content: 'lo' }),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ]),
    })
    const response = await post(pathTo(model, 'converse-stream'), { messages: hi })
    expect(response.headers.get('content-type')).toBe('application/vnd.amazon.eventstream')
    expect((await eventsOf(response)).map(({ type }) => type)).toEqual([
      'messageStart',
      'contentBlockDelta',
      'contentBlockDelta',
      'contentBlockStop',
      'messageStop',
      'metadata',
    ])
  })

  test('gets an exception for a stream that is cut off', async () => {
    const { post } = setUp({ a: asStream([chunk({ role: 'assistant', content: 'hel' })]) })
    expect((await eventsOf(await post(pathTo(model, 'converse-stream'), { messages: hi }))).at(-1)?.type).toBe(
      'modelStreamErrorException',
    )
  })
})

describe('the beta flags of a body of Converse', () => {
  const bodyWith = (fields: object) => JSON.stringify({ messages: hi, additionalModelRequestFields: fields })
  const at = '/additionalModelRequestFields/anthropic_beta'

  test.each([
    ['both formats', undefined, [at]],
    ['Converse only', ['converse'], [at, '/anthropic-beta']],
  ] as const)('are those of the upstream’s option, and others are reported: %s', async (_, formats, lost) => {
    const options = { region: 'us-east-1', apiKey: secret, betas: ['b2', 'b3'] }
    const upstreams = { b: bedrock({ ...options, ...(formats === undefined ? {} : { formats }) }) }
    const { post, seen, finished } = setUpBedrock({ [host]: asJson(conversed) }, { upstreams })
    const sent = bodyWith({ top_k: 1, anthropic_beta: ['b1', 'b2'] })
    const response = await post(pathTo(claude, 'converse'), sent, { 'anthropic-beta': 'b3, b4' })
    expect(response.status).toBe(200)
    const flags = formats === undefined ? ['b2'] : ['b2', 'b3']
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(JSON.parse(bodyWith({ top_k: 1, anthropic_beta: flags })))
    expect(finished[0]?.losses.map(({ path }) => path)).toEqual(lost)
    expect(response.headers.get('modelgate-loss')).toContain(`"${at}";kind=unsupported;severity=note`)
  })

  test('pass unchanged if all are in the option, or without it', async () => {
    const passing = ` ${bodyWith({ anthropic_beta: ['b1'] })}`
    for (const betas of [['b1'], undefined]) {
      const upstreams = { b: bedrock({ region: 'us-east-1', apiKey: secret, ...(betas && { betas }) }) }
      const { post, seen, finished } = setUpBedrock({ [host]: asJson(conversed) }, { upstreams })
      await post(pathTo(claude, 'converse'), passing)
      expect(seen[0]?.body).toBe(passing)
      expect(finished[0]?.losses).toEqual([])
    }
  })
})

describe('the option `betas` of Bedrock', () => {
  const note = (at: string, flag: string) => [at, `the upstream's option 'betas' does not contain ${flag}`]
  const noString = 'a value that is not a string'
  const repetition = (at: string) => [at, 'the member occurs more than once, and only its last value is used']
  const nested = '/additionalModelRequestFields/anthropic_beta'
  const send = async (path: string, body: string) => {
    const upstreams = { b: bedrock({ region: 'us-east-1', apiKey: secret, betas: ['b2'] }) }
    const answer = asJson(path.endsWith('converse') ? conversed : message)
    const { post, seen, finished } = setUpBedrock({ [host]: answer }, { upstreams })
    const response = await post(path, body, { 'anthropic-version': '2023-06-01' })
    const losses = finished[0]?.losses.map(({ path: at, detail }) => [at, detail])
    return { status: response.status, sent: seen[0]?.body ?? '', losses }
  }
  const rest = '"max_tokens":10,"messages":[{"role":"user","content":"hi"}]'
  const invoke = (member: string) => `{"anthropic_version":"bedrock-2023-05-31",${member},${rest}}`
  const converse = (member: string) => `{"messages":${JSON.stringify(hi)},${member}}`
  /** A body of each kind with these members, and the place of the flags in it. */
  const kinds = [
    ['InvokeModel', pathTo(claude, 'invoke'), '/anthropic_beta', invoke],
    ['Messages', '/v1/messages', '/anthropic_beta', (member: string) => `{"model":"${claude}",${member},${rest}}`],
    [
      'Converse',
      pathTo(claude, 'converse'),
      nested,
      (member: string) => converse(`"additionalModelRequestFields":{${member}}`),
    ],
  ] as const

  describe.each(kinds)('%s', (_, path, at, bodyWith) => {
    /** The flags that the upstream got, each occurrence of the member. */
    const flagsIn = (body: string) => body.match(/"anthropic_beta":(?:\[[^\]]*\]|"[^"]*"|[^,}]+)/g)

    it.each([
      ['"b1"', "'b1'"],
      ['"b1,b2"', "'b1,b2'"],
      ['{"0":"b1"}', noString],
      ['1', noString],
      ['true', noString],
      ['[["b1"]]', noString],
    ])('drops and reports the value %s', async (value, flag) => {
      const { status, sent, losses } = await send(path, bodyWith(`"anthropic_beta":${value}`))
      expect([status, flagsIn(sent), losses]).toEqual([200, ['"anthropic_beta":[]'], [note(at, flag)]])
    })

    it.each(['"b2"', 'null', '["b2"]'])('passes the value %s', async (value) => {
      const { sent, losses } = await send(path, bodyWith(`"anthropic_beta":${value}`))
      expect([flagsIn(sent), losses]).toEqual([[`"anthropic_beta":${value}`], []])
    })

    it.each(['"anthropic_beta":["b1"],"anthropic_beta":["b2"]', '"anthropic_beta":"b1","anthropic_\\u0062eta":["b2"]'])(
      'forwards one member in place of %s',
      async (members) => {
        const { sent, losses } = await send(path, bodyWith(members))
        expect([flagsIn(sent), losses]).toEqual([['"anthropic_beta":["b2"]'], [repetition(at)]])
        expect(sent).not.toContain('b1')
      },
    )
  })

  it('forwards one member in place of two that hold the flags', async () => {
    const fields = (inner: string) => `"additionalModelRequestFields":${inner}`
    const body = converse(`${fields('{"anthropic_beta":["b1"]}')},${fields('{"top_k":12345678901234567890}')}`)
    const { sent, losses } = await send(pathTo(claude, 'converse'), body)
    expect(sent).toBe(converse(fields('{"top_k":12345678901234567890}')))
    expect(losses).toEqual([repetition(nested)])
  })
})

describe('InvokeModel with a body of Anthropic', () => {
  const body = `{"anthropic_version":"bedrock-2023-05-31",  "max_tokens":10,"anthropic_beta":["b1"],"messages":[{"role":"user","content":"hi"}]}`

  test('keeps every byte for an upstream of Bedrock', async () => {
    const { post, seen, finished } = setUpBedrock({ [host]: asJson(message) })
    const response = await post(pathTo(claude, 'invoke'), body, { 'content-type': 'application/octet-stream' })
    expect(await response.json()).toEqual(message)
    expect(seen).toMatchObject([{ url: `https://${host}${pathTo(claude, 'invoke')}`, body }])
    expect(finished).toMatchObject([
      { operation: 'generate', lane: 'wire', model: claude, usage: { input: { total: 3 } } },
    ])
  })

  test('keeps the frames of a stream of Bedrock', async () => {
    const frames = claudeEvents.map(chunkFrame)
    const { post, finished } = setUpBedrock({ [host]: asFrames(frames) })
    const response = await post(pathTo(claude, 'invoke-with-response-stream'), body)
    expect(await bytesOf(response)).toEqual(concatBytes(frames))
    expect(finished).toMatchObject([
      { outcome: 'finished', stream: true, usage: { input: { total: 3 }, output: { total: 1 } } },
    ])
  })

  test.each([
    { flags: ['a\r\nx: 1'] },
    { flags: ['ā'] },
    { flags: ['x'.repeat(129)] },
    { flags: [''] },
    { flags: ['b1', 3] },
    { flags: 3 },
    { flags: { b1: true } },
    { flags: 'b1,b2' },
  ])('is rejected before any upstream call for the beta flags %j', async ({ flags }) => {
    const { post, seen } = setUp({ m: asJson(message) })
    const response = await post(
      pathTo('claude-x', 'invoke'),
      JSON.stringify({ ...JSON.parse(body), anthropic_beta: flags }),
    )
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { message: expect.stringContaining("Invalid value for 'anthropic_beta'") },
    ])
    expect(seen).toEqual([])
  })

  test('loses the beta flags that the upstream’s option does not contain, and reports them', async () => {
    const upstreams = { b: bedrock({ region: 'us-east-1', apiKey: secret, betas: ['b2'] }) }
    const { post, seen, finished } = setUpBedrock({ [host]: asJson(message) }, { upstreams })
    const flags = body.replace('["b1"]', '["b1","b2",3]')
    expect((await post(pathTo(claude, 'invoke'), flags)).status).toBe(200)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ ...JSON.parse(body), anthropic_beta: ['b2'] })
    expect(finished[0]?.losses.map(({ path, severity, detail }) => [path, severity, detail])).toEqual([
      ['/anthropic_beta', 'note', "the upstream's option 'betas' does not contain 'b1'"],
      ['/anthropic_beta', 'note', "the upstream's option 'betas' does not contain a value that is not a string"],
    ])
    const passing = body.replace('b1', 'b2')
    await post(pathTo(claude, 'invoke'), passing)
    expect(seen[1]?.body).toBe(passing)
  })

  test('becomes a body of Anthropic’s own API for an upstream of it', async () => {
    const { post, seen } = setUp({ m: asJson(message) })
    await post(pathTo('claude-x', 'invoke'), body)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      model: 'claude-x',
    })
    expect(seen[0]?.headers.get('anthropic-beta')).toBe('b1')
    await post(pathTo('claude-x', 'invoke'), body.replace('["b1"]', '"b1"'))
    expect(seen[1]?.headers.get('anthropic-beta')).toBe('b1')
  })

  test('is streamed as frames with Anthropic’s events', async () => {
    const events = claudeEvents.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    const { post, seen } = setUp({ m: asStream(events) })
    const response = await post(pathTo('claude-x', 'invoke-with-response-stream'), body)
    expect(await eventsOf(response)).toEqual(claudeEvents.map((data) => ({ type: 'chunk', data })))
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ stream: true })
  })

  test('is translated for an upstream of another format', async () => {
    const { post } = setUp({ a: asJson(completion) })
    const response = await post(pathTo('real', 'invoke'), body)
    expect(await response.json()).toMatchObject({ type: 'message', content: [{ type: 'text', text: 'hello' }] })
    expect(response.headers.get('modelgate-loss')).toContain('anthropic_beta')
  })

  test('that is too long for its model gets the sentence by which Anthropic’s clients shorten it', async () => {
    const { post } = setUp({}, { models: { small: { upstream: 'a', when: 'fits', card: { contextWindow: 10 } } } })
    const response = await post(pathTo('small', 'invoke'), body)
    expect([response.status, response.headers.get('x-amzn-errortype')]).toEqual([400, 'ValidationException'])
    expect((await response.json()).message).toMatch(/prompt is too long|input length and `max_tokens` exceed/)
  })

  it.each([
    [
      'an error event',
      `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n`,
      'serviceUnavailableException',
    ],
    ['nothing', '', 'modelStreamErrorException'],
  ])('has an exception for a stream that ends with %s', async (_, last, type) => {
    const events = claudeEvents.slice(0, 3).map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    const { post } = setUp({ m: asStream([...events, last]) })
    expect((await eventsOf(await post(pathTo('claude-x', 'invoke-with-response-stream'), body))).at(-1)?.type).toBe(
      type,
    )
  })
})

describe('InvokeModel with another body', () => {
  test('of chat completions reaches an upstream of chat', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const chat = '{"messages":[{"role":"user","content":"hi"}],"seed":12345678901234567890}'
    const response = await post(pathTo('alias', 'invoke'), chat)
    expect(await response.json()).toEqual(completion)
    expect(seen[0]?.body).toBe(
      '{"messages":[{"role":"user","content":"hi"}],"seed":12345678901234567890,"model":"real"}',
    )
  })

  test('of chat completions is streamed as frames of its chunks', async () => {
    const { post } = setUp({ a: asStream([chunk({ content: 'hi' }), chunk({}, 'stop'), 'data: [DONE]\n\n']) })
    const events = await eventsOf(
      await post(pathTo('real', 'invoke-with-response-stream'), {
        messages: [{ role: 'user', content: 'hi' }],
        stream: true,
      }),
    )
    expect(events.map(({ data }) => (data as typeof completion).choices[0]?.finish_reason)).toEqual([null, 'stop'])
  })

  const vectors = {
    object: 'list',
    model: 'e',
    data: [{ object: 'embedding', index: 0, embedding: [0.5, 1] }],
    usage: { prompt_tokens: 2, total_tokens: 2 },
  }
  it.each([
    [
      { inputText: 'hi', dimensions: 2 },
      { embedding: [0.5, 1], embeddingsByType: { float: [0.5, 1] }, inputTextTokenCount: 2 },
    ],
    [
      { texts: ['hi'], input_type: 'search_query' },
      { embeddings: [[0.5, 1]], texts: ['hi'], response_type: 'embeddings_floats', id: expect.any(String) },
    ],
    [
      { texts: ['hi'], input_type: 'search_document', embedding_types: ['float'] },
      { embeddings: { float: [[0.5, 1]] }, texts: ['hi'], response_type: 'embeddings_by_type', id: expect.any(String) },
    ],
  ])('of embeddings gets them in the same form: %j', async (body, expected) => {
    const { post, finished } = setUp({ a: asJson(vectors) })
    const response = await post(pathTo('real', 'invoke'), body)
    expect(await response.json()).toEqual(expected)
    expect(finished).toMatchObject([{ operation: 'embeddings', usage: { input: { total: 2 } } }])
  })

  it.each<[JsonObject, string]>([
    [{ input: 'hi' }, 'knows no format with these fields. InvokeModel accepts Anthropic Messages'],
    [{ inputText: '' }, "'inputText'"],
    ...(
      [
        ['Amazon Nova', { schemaVersion: 'messages-v1', messages: hi }],
        ['Amazon Nova', { messages: hi, inferenceConfig: { maxTokens: 9 } }],
        ['text models of Amazon Titan', { inputText: 'hi', textGenerationConfig: {} }],
        ['image models of Amazon', { taskType: 'TEXT_IMAGE', textToImageParams: { text: 'hi' } }],
        ['Meta Llama', { prompt: 'hi', max_gen_len: 9 }],
        ['Claude’s text completions', { prompt: 'hi', max_tokens_to_sample: 9 }],
        ['models that complete a text', { prompt: '<s>[INST] hi [/INST]', max_tokens: 9 }],
        ['Cohere Command', { message: 'hi' }],
      ] as const
    ).flatMap(([family, body]): [JsonObject, string][] => [
      [body as JsonObject, `a body of ${family}`],
      [body as JsonObject, 'use Converse'],
    ]),
  ])('is rejected with what is accepted: %j', async (body, message) => {
    const { post, seen } = setUp({})
    const response = await post(pathTo('real', 'invoke'), body)
    expect([response.status, response.headers.get('x-amzn-errortype')]).toEqual([400, 'ValidationException'])
    expect(((await response.json()) as { message: string }).message).toContain(message)
    expect(seen).toEqual([])
  })

  test('is rejected if a header names a guardrail', async () => {
    const { post } = setUp({})
    const response = await post(
      pathTo('real', 'invoke'),
      { inputText: 'hi' },
      { 'X-Amzn-Bedrock-GuardrailIdentifier': 'g1' },
    )
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('guardrail')])
  })
})

describe('count-tokens', () => {
  const counted = { messages: hi, system: [{ text: 'Be brief.' }] }
  const invokeModel = (body: unknown): JsonObject => ({
    input: {
      invokeModel: { body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)).toString('base64') },
    },
  })

  test('counts a request of Converse at the upstream', async () => {
    const { post, seen } = setUp({ m: asJson({ input_tokens: 9 }) })
    const response = await post(pathTo('claude-x', 'count-tokens'), { input: { converse: counted } })
    expect(await response.json()).toEqual({ inputTokens: 9 })
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ model: 'claude-x', system: [{ text: 'Be brief.' }] })
  })

  test('counts a request of Anthropic at the upstream', async () => {
    const { post, seen } = setUp({ m: asJson({ input_tokens: 9 }) })
    const body = {
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
    }
    const response = await post(pathTo('claude-x', 'count-tokens'), invokeModel(body))
    expect(await response.json()).toEqual({ inputTokens: 9 })
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({
      model: 'claude-x',
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(seen[0]?.body).not.toContain('anthropic_version')
  })

  it.each([{ input: { converse: counted } }, invokeModel({ messages: [{ role: 'user', content: 'hi' }] })])(
    'estimates what the upstream cannot count: %#',
    async (body) => {
      const { post } = setUpBedrock({})
      const estimated = await post(pathTo('real', 'count-tokens'), body)
      expect([estimated.status, await estimated.json()]).toEqual([200, { inputTokens: expect.any(Number) }])
      expect(estimated.headers.get('modelgate-estimate')).toContain('tokens')
    },
  )

  it.each<[string, JsonObject]>([
    ['input', {}],
    ['input', { input: { converse: counted, invokeModel: { body: '' } } }],
    ['base64', { input: { invokeModel: { body: '%' } } }],
    ['JSON', invokeModel('{')],
    ['object', invokeModel('[]')],
    ['deeper', invokeModel(`{"messages":${'['.repeat(200)}${']'.repeat(200)}}`)],
    ['embeddings', invokeModel({ inputText: 'hi' })],
    ['no format', invokeModel({ input: 'hi' })],
    ['models that complete a text', invokeModel({ prompt: 'hi' })],
    ['input.converse.messages', { input: { converse: { messages: [{ role: 'user', content: 'hi' }] } } }],
  ])('rejects an input, with a message about %s', async (word, body) => {
    const { post } = setUp({})
    const response = await post(pathTo('real', 'count-tokens'), body)
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(word)])
  })
})

describe('authentication of clients of AWS', () => {
  const signed =
    'AWS4-HMAC-SHA256 Credential=AKID/20250101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=abc'

  test('rejects a signature, says what to do, and sends it nowhere', async () => {
    const { post, seen, logged } = setUpBedrock({ [host]: asJson(conversed) })
    const response = await post(pathTo(claude, 'converse'), odd, { authorization: signed })
    const { message: text } = (await response.json()) as { message: string }
    expect([response.status, response.headers.get('x-amzn-errortype')]).toEqual([403, 'UnrecognizedClientException'])
    expect(text).toContain('AWS_BEARER_TOKEN_BEDROCK')
    expect(JSON.stringify([text, seen, logged])).not.toContain('AKID')
  })

  test('forwards no header of AWS next to a valid token', async () => {
    const { gateway, seen } = setUpBedrock({ [host]: asJson(conversed) })
    const response = await gateway.fetch(
      new Request(`http://gw${pathTo(claude, 'converse')}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-api-key': 'good',
          authorization: signed,
          'x-amz-security-token': 'their-token',
        },
        body: odd,
      }),
    )
    expect(response.status).toBe(200)
    expect(seen[0]?.headers.get('authorization')).toBe(`Bearer ${secret}`)
    expect(JSON.stringify([...(seen[0]?.headers ?? [])])).not.toMatch(/AKID|their-token/)
  })

  it.each(['..%2F..%2Fguardrail%2Fx', 'a%2F..%2Fb', '.', 'a%5C..%5Cb'])(
    'rejects the model %s, which leads to another path',
    async (model) => {
      const { post, seen } = setUpBedrock({ [host]: asJson(conversed) })
      const response = await post(`/model/${model}/converse`, odd)
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(seen).toEqual([])
    },
  )
})

test('lists the models as Bedrock does', async () => {
  const { gateway } = setUpBedrock({}, { models: { mine: 'b' } })
  const get = async (path: string) =>
    (await gateway.fetch(new Request(`http://gw${path}`, { headers: { authorization: 'Bearer good' } }))).json()
  expect(await get('/foundation-models')).toMatchObject({ modelSummaries: [{ modelId: 'mine' }] })
  expect(await get('/foundation-models/mine')).toMatchObject({ modelDetails: { modelId: 'mine' } })
})
