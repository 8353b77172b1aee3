import { describe, expect, it, test, vi } from 'vitest'
import { concatBytes } from '../base/bytes.ts'
import type { GatewayConfig } from '../config/config.ts'
import { type Answer, asJson, message, setUp } from '../gateway/create-gateway.test-support.ts'
import { chunkFrame, eventFrame, exceptionFrame } from '../http/frames/frames.test-support.ts'
import { type BedrockOptions, bedrock } from './bedrock.ts'

const region = 'us-east-1'
const host = 'bedrock-runtime.us-east-1.amazonaws.com'
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const nova = 'us.amazon.nova-2-lite-v1:0'

function gatewayTo(answer: Answer, options: Partial<BedrockOptions> = {}, config: Partial<GatewayConfig> = {}) {
  return setUp(
    { [host]: answer },
    {
      upstreams: {
        b: bedrock({
          region,
          ...(options.credentials === undefined ? { apiKey: 'bedrock-canary-key' } : {}),
          ...options,
        }),
      },
      models: { '*': 'b' },
      retry: false,
      ...config,
    },
  )
}

const converseUsage = { inputTokens: 3, outputTokens: 1, totalTokens: 4 }
const conversed = {
  output: { message: { role: 'assistant', content: [{ text: 'hello' }] } },
  stopReason: 'end_turn',
  usage: converseUsage,
  metrics: { latencyMs: 1 },
}
const converseFrames = [
  eventFrame('messageStart', { role: 'assistant' }),
  eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hel' } }),
  eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'lo' } }),
  eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
  eventFrame('messageStop', { stopReason: 'end_turn' }),
  eventFrame('metadata', { usage: converseUsage, metrics: { latencyMs: 1 } }),
]
const claudeEvents = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hel' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 3 } },
]
const claudeFrames = claudeEvents.map(chunkFrame)

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

/** Returns a response for each operation of Bedrock. */
const bedrockItself: Answer = (seen, signal) => {
  const operation = /\/model\/[^/]+\/([a-z-]+)$/.exec(seen.url)?.[1]
  const answers: Record<string, Answer> = {
    invoke: asJson(message),
    'invoke-with-response-stream': asFrames(claudeFrames),
    converse: asJson(conversed),
    'converse-stream': asFrames(converseFrames),
  }
  return (answers[operation ?? ''] ?? asJson({ message: 'Unknown operation' }, { status: 404 }))(seen, signal)
}

const hi = [{ role: 'user', content: 'hi' }]
/** One call by a client of each format. */
const clients = (model: string, stream: boolean) =>
  ({
    chat: ['/v1/chat/completions', { model, messages: hi, stream }],
    messages: ['/v1/messages', { model, max_tokens: 10, messages: hi, stream }],
    responses: ['/v1/responses', { model, input: 'hi', stream, store: false }],
    gemini: [
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      { contents: [{ parts: [{ text: 'hi' }] }] },
    ],
  }) as const
const formats = ['chat', 'messages', 'responses', 'gemini'] as const
const versioned = { 'anthropic-version': '2023-06-01' }

describe('calls to Bedrock', () => {
  it.each(formats.flatMap((format) => [true, false].map((stream) => [format, stream] as const)))(
    'in the format %s (stream: %s) reach Claude and any other model',
    async (format, stream) => {
      for (const model of [claude, nova]) {
        const { post, seen, finished } = gatewayTo(bedrockItself)
        const [path, body] = clients(model, stream)[format]
        const reply = await post(path, body, versioned)
        const text = await reply.text()
        expect([reply.status, text.replace(/[^a-z]+/g, '')], text).toEqual([200, expect.stringContaining('hel')])
        expect(text).not.toMatch(/"error":\{/)
        const isClaude = model === claude
        const operation = isClaude
          ? stream
            ? 'invoke-with-response-stream'
            : 'invoke'
          : stream
            ? 'converse-stream'
            : 'converse'
        expect(seen.map(({ url }) => url)).toEqual([`https://${host}/model/${encodeURIComponent(model)}/${operation}`])
        expect(seen[0]?.headers.get('authorization')).toBe('Bearer bedrock-canary-key')
        expect(seen[0]?.headers.get('accept')).toBe('*/*')
        const sent = JSON.parse(seen[0]?.body ?? '') as Record<string, unknown>
        if (isClaude)
          expect(sent).toMatchObject({ anthropic_version: 'bedrock-2023-05-31', messages: [{ role: 'user' }] })
        else expect(sent.messages).toEqual([{ role: 'user', content: [{ text: 'hi' }] }])
        expect(sent).not.toHaveProperty('model')
        expect(sent).not.toHaveProperty('stream')
        expect(finished[0]).toMatchObject({
          outcome: 'finished',
          upstreamFormat: isClaude ? 'messages' : 'converse',
          usage: { input: { total: 3 }, output: { total: 1 } },
        })
      }
    },
  )

  test('pass Claude’s events unchanged to clients of messages', async () => {
    const { messages, seen } = gatewayTo(bedrockItself)
    const reply = await messages({ model: claude, stream: true }, { 'anthropic-beta': 'one, two' })
    expect(await reply.text()).toBe(
      claudeEvents.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
    )
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ anthropic_beta: ['one', 'two'] })
    expect(seen[0]?.headers.get('anthropic-beta')).toBeNull()
    expect(seen[0]?.headers.get('anthropic-version')).toBeNull()
  })

  test('report fields that Converse does not support', async () => {
    const { chat } = gatewayTo(bedrockItself)
    const reply = await chat({ model: nova, seed: 7 })
    expect(reply.headers.get('modelgate-loss')).toContain('"/seed";kind=unsupported;severity=warn')
  })
})

describe('a tool loop with thinking', () => {
  const thought = [
    eventFrame('messageStart', { role: 'assistant' }),
    eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm.' } } }),
    eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'c2lnbmVk' } } }),
    eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
    eventFrame('contentBlockStart', {
      contentBlockIndex: 1,
      start: { toolUse: { toolUseId: 'tooluse_1', name: 'weather', type: 'tool_use' } },
    }),
    eventFrame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"city":"Oslo"}' } } }),
    eventFrame('contentBlockStop', { contentBlockIndex: 1 }),
    eventFrame('messageStop', { stopReason: 'tool_use' }),
    eventFrame('metadata', { usage: converseUsage }),
  ]
  const wholeThought = {
    ...conversed,
    stopReason: 'tool_use',
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2lnbmVk' } } },
          { toolUse: { toolUseId: 'tooluse_1', name: 'weather', input: { city: 'Oslo' } } },
        ],
      },
    },
  }
  const back = {
    role: 'assistant',
    content: [
      { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2lnbmVk' } } },
      { toolUse: { toolUseId: 'tooluse_1', name: 'weather', input: { city: 'Oslo' } } },
    ],
  }
  const schema = { type: 'object', properties: { city: { type: 'string' } } }

  it.each([false, true])('keeps the signature for a client of messages (stream: %s)', async (stream) => {
    const first = stream ? asFrames(thought) : asJson(wholeThought)
    let calls = 0
    const { messages, seen } = gatewayTo((call, signal) => (calls++ === 0 ? first : bedrockItself)(call, signal))
    const tools = [{ name: 'weather', input_schema: schema }]
    const reply = await messages({ model: nova, stream, tools })
    const text = await reply.text()
    expect(text).toContain(stream ? '"stop_reason":"tool_use"' : '"tool_use"')
    const signature = /"signature":"(mgs1\.[^"]+)"/.exec(text)?.[1]
    expect(signature).toBe('mgs1.converse.c2lnbmVk')
    const next = await messages({
      model: nova,
      tools,
      messages: [
        ...hi,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature },
            { type: 'tool_use', id: 'tooluse_1', name: 'weather', input: { city: 'Oslo' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'tooluse_1', content: 'Rain.' }] },
      ],
    })
    expect(next.status).toBe(200)
    const sent = JSON.parse(seen[1]?.body ?? '') as { messages: unknown[] }
    expect(sent.messages[1]).toEqual(back)
    expect(sent.messages[2]).toMatchObject({
      content: [{ toolResult: { toolUseId: 'tooluse_1', content: [{ text: 'Rain.' }] } }],
    })
  })

  it.each([false, true])('keeps call and reasoning for a client of chat (stream: %s)', async (stream) => {
    const { chat, seen } = gatewayTo(stream ? asFrames(thought) : asJson(wholeThought))
    const tools = [{ type: 'function', function: { name: 'weather', parameters: schema } }]
    const reply = await chat({ model: nova, stream, tools, tool_choice: 'required', reasoning_effort: 'high' })
    const text = await reply.text()
    expect(text).toContain('"finish_reason":"tool_calls"')
    expect(text).toContain('tooluse_1')
    expect(text).toContain('Hm.')
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({
      toolConfig: { toolChoice: { any: {} } },
      additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } },
    })
  })
})

describe('errors of Bedrock', () => {
  const refusal = (status: number, message: string, name?: string): Answer =>
    asJson({ message }, { status, headers: name === undefined ? {} : { 'x-amzn-errortype': name } })

  it.each([
    [400, 'Malformed input request', 400],
    [400, 'Input is too long for requested model.', 400],
    [403, 'The security token included in the request is invalid', 502],
    [424, 'The model broke', 502],
    [429, 'Too many requests, please wait', 429],
    [503, 'Try again later', 503],
  ])('map %i (%s) to %i for clients of chat with either API', async (status, upstreamMessage, expected) => {
    for (const model of [claude, nova]) {
      const { chat } = gatewayTo(refusal(status, upstreamMessage))
      const reply = await chat({ model })
      expect([model, reply.status]).toEqual([model, expected])
      const text = await reply.text()
      if (expected === 502 && status === 403) expect(text).not.toContain('security token')
      else expect(text).toContain(upstreamMessage)
      if (upstreamMessage.startsWith('Input')) expect(text).toContain('context_length_exceeded')
    }
  })

  it.each([claude, nova])('turn an exception instead of a stream of %s into a status', async (model) => {
    for (const format of ['chat', 'messages'] as const) {
      const { post } = gatewayTo(asFrames([exceptionFrame('throttlingException', { message: 'Slow down' })]))
      const [path, body] = clients(model, true)[format]
      const reply = await post(path, body, versioned)
      expect([reply.status, await reply.text()]).toEqual([429, expect.stringContaining('Slow down')])
    }
  })

  it.each([
    [claude, claudeFrames.slice(0, 3)],
    [nova, converseFrames.slice(0, 2)],
  ])('end a stream of %s with an error in the client’s format', async (model, frames) => {
    const broken = [...frames, exceptionFrame('modelStreamErrorException', { message: 'It broke' })]
    for (const format of ['chat', 'messages'] as const) {
      const { post, finished } = gatewayTo(asFrames(broken))
      const [path, body] = clients(model, true)[format]
      const reply = await post(path, body, versioned)
      const text = await reply.text()
      expect(reply.status).toBe(200)
      expect(text).toContain('hel')
      expect(text).toContain('It broke')
      expect(text).toMatch(format === 'chat' ? /data: \{"error":/ : /event: error\n/)
      expect(text).not.toMatch(/\[DONE\]|message_stop/)
      expect(finished[0]).toMatchObject({ outcome: 'failed' })
    }
  })

  it.each([
    [claude, claudeFrames],
    [nova, converseFrames],
  ])('report a stream of %s that is cut off within or between frames', async (model, frames) => {
    const all = concatBytes(frames)
    const last = frames.at(-1)?.length ?? 0
    for (const bytes of [all.subarray(0, all.length - 7), all.subarray(0, all.length - last)]) {
      const { chat, finished } = gatewayTo(asFrames([bytes]))
      const text = await (await chat({ model, stream: true })).text()
      expect(text).toMatch(/data: \{"error":/)
      expect(text).not.toContain('[DONE]')
      expect(text).toContain('upstream_truncated')
      expect(finished[0]).toMatchObject({ outcome: 'failed' })
    }
  })

  test('are raised for a frame with a wrong checksum', async () => {
    const bytes = concatBytes(converseFrames)
    bytes[bytes.length - 30] = (bytes[bytes.length - 30] as number) ^ 1
    const { chat } = gatewayTo(asFrames([bytes]))
    const text = await (await chat({ model: nova, stream: true })).text()
    expect(text).toMatch(/data: \{"error":/)
  })
})

describe('AWS credentials', () => {
  const key = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'canary-secret', sessionToken: 'canary-session' }

  test('sign each call when it is sent', async () => {
    const credentials = vi.fn(async () => key)
    const { chat, seen } = gatewayTo(bedrockItself, { credentials })
    expect((await chat({ model: nova })).status).toBe(200)
    const headers = seen[0]?.headers
    expect(headers?.get('authorization')).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/bedrock\/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
    )
    expect(headers?.get('x-amz-security-token')).toBe('canary-session')
    expect(headers?.get('x-amz-date')).toMatch(/^\d{8}T\d{6}Z$/)
    expect(credentials).toHaveBeenCalledTimes(1)
  })

  test('cause upstream_auth if they cannot be loaded', async () => {
    const credentials = vi.fn(async () => {
      throw new Error('no role for canary-host')
    })
    const { chat, seen, logged } = gatewayTo(bedrockItself, { credentials })
    const reply = await chat({ model: nova })
    expect(reply.status).toBe(502)
    expect(await reply.text()).not.toContain('canary')
    expect(seen).toEqual([])
    expect(JSON.stringify(logged, (_, value) => (value instanceof Error ? String(value) : value))).not.toBe('[]')
  })
})
