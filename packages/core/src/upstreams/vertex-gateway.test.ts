import { describe, expect, it, vi } from 'vitest'
import type { GatewayConfig } from '../config/config.ts'
import {
  type Answer,
  asJson,
  asStream,
  completion,
  generated,
  generatedEvents,
  message,
  type Seen,
  setUp,
} from '../gateway/create-gateway.test-support.ts'
import { vertex } from './vertex.ts'

const host = 'https://europe-west4-aiplatform.googleapis.com'
const publishers = `${host}/v1/projects/proj/locations/europe-west4/publishers`
const token = vi.fn(async () => 'vertex-canary-token')

function gatewayTo(answer: Answer, config: Partial<GatewayConfig> = {}) {
  return setUp(
    { 'europe-west4-aiplatform.googleapis.com': answer },
    {
      upstreams: { v: vertex({ project: 'proj', location: 'europe-west4', token }) },
      models: { '*': 'v' },
      retry: false,
      ...config,
    },
  )
}

/** A response in the format of the called model. */
const inItsFormat =
  (stream: boolean): Answer =>
  (seen: Seen, signal) => {
    const isClaude = seen.url.includes('/anthropic/')
    const answer = stream
      ? asStream(isClaude ? claudeEvents : generatedEvents)
      : asJson(isClaude ? message : seen.url.includes('/endpoints/') ? completion : generated)
    return answer(seen, signal)
  }

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const platforms = event('vertex_event', { usage: { input_tokens: 3, output_tokens: 1 } })
const claudeEvents = [
  event('message_start', { message: { ...message, content: [], stop_reason: null } }),
  platforms,
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hello' } }),
  event('content_block_stop', { index: 0 }),
  platforms,
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } }),
  event('message_stop'),
]

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
const versioned = { 'anthropic-version': '2023-06-01' }

describe('calls to Vertex AI', () => {
  it.each(['chat', 'messages', 'responses', 'gemini'] as const)(
    'in the format %s reach Gemini and Claude, whole and streamed',
    async (format) => {
      for (const stream of [false, true])
        for (const model of ['gemini-x', 'claude-x']) {
          const { post, seen, finished } = gatewayTo(inItsFormat(stream))
          const [path, body] = clients(model, stream)[format]
          const reply = await post(path, body, versioned)
          const text = await reply.text()
          expect([reply.status, text.replace(/[^a-z]+/g, '')], text).toEqual([200, expect.stringContaining('hel')])
          expect(text).not.toMatch(/"error":\s*\{/)
          expect(text).not.toContain('vertex_event')
          const method =
            model === 'gemini-x'
              ? `google/models/gemini-x:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
              : `anthropic/models/claude-x:${stream ? 'streamRawPredict' : 'rawPredict'}`
          expect(seen.map(({ url }) => url)).toEqual([`${publishers}/${method}`])
          expect(seen[0]?.headers.get('authorization')).toBe('Bearer vertex-canary-token')
          const sent = JSON.parse(seen[0]?.body ?? '') as Record<string, unknown>
          if (model === 'claude-x')
            expect(sent).toMatchObject({ anthropic_version: 'vertex-2023-10-16', messages: [{ role: 'user' }] })
          else expect(sent).toMatchObject({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
          expect(sent).not.toHaveProperty('model')
          expect(finished[0]).toMatchObject({
            outcome: 'finished',
            usage: { input: { total: 3 }, output: { total: 1 } },
          })
        }
    },
  )

  it('pass Claude’s events byte for byte to clients of messages', async () => {
    const { messages, seen } = gatewayTo(asStream(claudeEvents))
    const reply = await messages({ stream: true }, { 'anthropic-beta': 'some-beta', 'anthropic-version': '2023-06-01' })
    expect(await reply.text()).toBe(claudeEvents.filter((one) => one !== platforms).join(''))
    expect(seen[0]?.headers.get('anthropic-beta')).toBe('some-beta')
    expect(seen[0]?.headers.get('anthropic-version')).toBeNull()
  })

  it('reach open models through chat under their full names', async () => {
    const { post, seen } = gatewayTo(inItsFormat(false))
    const reply = await post(...clients('meta/llama-4', false).messages, versioned)
    expect(await reply.json()).toMatchObject({ content: [{ text: 'hello' }] })
    expect(seen[0]?.url).toBe(`${host}/v1/projects/proj/locations/europe-west4/endpoints/openapi/chat/completions`)
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ model: 'meta/llama-4' })
  })

  it('count tokens of Gemini and of Claude at their own endpoints', async () => {
    const { post, seen } = gatewayTo(({ url }) =>
      Response.json(url.includes('anthropic') ? { input_tokens: 7 } : { totalTokens: 7 }),
    )
    const requested = { model: 'claude-x', messages: hi, system: 'be brief' }
    const counts = [
      await post('/v1/messages/count_tokens', requested, versioned),
      await post('/v1/messages/count_tokens', { ...requested, model: 'gemini-x' }, versioned),
      await post('/v1beta/models/gemini-x:countTokens', {
        generateContentRequest: { model: 'models/gemini-x', contents: [{ parts: [{ text: 'hi' }] }] },
      }),
    ]
    expect(await Promise.all(counts.map((reply) => reply.json()))).toEqual([
      { input_tokens: 7 },
      { input_tokens: 7 },
      { totalTokens: 7 },
    ])
    expect(seen.map(({ url }) => url)).toEqual([
      `${publishers}/anthropic/models/count-tokens:rawPredict`,
      `${publishers}/google/models/gemini-x:countTokens`,
      `${publishers}/google/models/gemini-x:countTokens`,
    ])
    const bodies = seen.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    expect(bodies[0]).toMatchObject({ model: 'claude-x', anthropic_version: 'vertex-2023-10-16' })
    expect(bodies[1]).toMatchObject({
      contents: [{ role: 'user' }],
      systemInstruction: { parts: [{ text: 'be brief' }] },
    })
    expect(bodies[2]).toEqual({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  })
})

describe('embeddings of Vertex AI', () => {
  const predictions = [1, 2].map((n) => ({
    embeddings: { values: [n, 0.5], statistics: { token_count: n + 1, truncated: false } },
  }))

  it('come from :predict with the tokens of all texts', async () => {
    const { post, seen, finished } = gatewayTo(asJson({ predictions }))
    const reply = await post('/v1/embeddings', { model: 'text-embedding-005', input: ['a', 'b'], dimensions: 2 })
    expect(await reply.json()).toMatchObject({
      data: [{ embedding: [1, 0.5] }, { embedding: [2, 0.5] }],
      usage: { prompt_tokens: 5 },
    })
    expect(seen[0]?.url).toBe(`${publishers}/google/models/text-embedding-005:predict`)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      instances: [{ content: 'a' }, { content: 'b' }],
      // OpenAI rejects an input that is too long, instead of truncating it.
      parameters: { outputDimensionality: 2, autoTruncate: false },
    })
    expect(finished[0]).toMatchObject({ usage: { input: { total: 5 } }, losses: [] })
  })

  it("respect task, title and truncation of Google's clients", async () => {
    const { post, seen } = gatewayTo(asJson({ predictions: predictions.slice(0, 1) }))
    const reply = await post('/v1beta/models/gemini-embedding-001:batchEmbedContents', {
      requests: [
        {
          model: 'models/gemini-embedding-001',
          content: { parts: [{ text: 'a' }] },
          taskType: 'RETRIEVAL_DOCUMENT',
          title: 'T',
        },
      ],
    })
    expect(await reply.json()).toMatchObject({ embeddings: [{ values: [1, 0.5] }] })
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      instances: [{ content: 'a', task_type: 'RETRIEVAL_DOCUMENT', title: 'T' }],
    })
  })

  it('come from :embedContent for newer models, one per call', async () => {
    const answer = { embedding: { values: [1, 2] }, usageMetadata: { promptTokenCount: 4 } }
    const { post, seen, finished } = gatewayTo(asJson(answer))
    const reply = await post('/v1/embeddings', { model: 'gemini-embedding-2', input: 'a', dimensions: 2 })
    expect(await reply.json()).toMatchObject({ data: [{ embedding: [1, 2] }], usage: { prompt_tokens: 4 } })
    expect(seen[0]?.url).toBe(`${publishers}/google/models/gemini-embedding-2:embedContent`)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      content: { role: 'user', parts: [{ text: 'a' }] },
      embedContentConfig: { outputDimensionality: 2, autoTruncate: false },
    })
    expect(finished[0]?.losses).toEqual([])
    const two = await post('/v1/embeddings', { model: 'gemini-embedding-2', input: ['a', 'b'] })
    expect([two.status, await two.json()]).toMatchObject([
      400,
      { error: { param: 'input', message: expect.stringContaining('one input per call') } },
    ])
    expect(seen.length).toBe(1)
  })

  it.each([{}, { predictions: [{}] }, { predictions: [{ embeddings: { values: 'x' } }] }])(
    'are not created from %j',
    async (answer) => {
      const { post } = gatewayTo(asJson(answer))
      const reply = await post('/v1/embeddings', { model: 'text-embedding-005', input: 'a' })
      expect(reply.status).toBe(502)
    },
  )
})

describe('images of Vertex AI', () => {
  it('come from Imagen through :predict', async () => {
    const { post, seen } = gatewayTo(asJson({ predictions: [{ mimeType: 'image/png', bytesBase64Encoded: 'aW1n' }] }))
    const reply = await post('/v1/images/generations', { model: 'imagen-4', prompt: 'a cat', n: 1 })
    expect(await reply.json()).toMatchObject({ data: [{ b64_json: 'aW1n' }] })
    expect(seen[0]?.url).toBe(`${publishers}/google/models/imagen-4:predict`)
  })
})

const exhausted = { code: 429, message: 'Resource exhausted. Please try again later.', status: 'RESOURCE_EXHAUSTED' }

describe("Vertex AI's errors", () => {
  it.each(['gemini-x', 'claude-x'])('of %s are decoded as an object and as a list', async (model) => {
    for (const body of [{ error: exhausted }, [{ error: exhausted }]]) {
      const { post } = gatewayTo(asJson(body, { status: 429 }))
      const [path, sent] = clients(model, true).chat
      const reply = await post(path, sent)
      expect([reply.status, await reply.json()]).toMatchObject([
        429,
        { error: { code: 'rate_limit_exceeded', message: 'Resource exhausted. Please try again later.' } },
      ])
    }
  })

  it('about a model are rewritten for a client of messages', async () => {
    const error = {
      code: 404,
      message: 'Publisher Model `x` was not found or your project has no access.',
      status: 'NOT_FOUND',
    }
    const { messages } = gatewayTo(asJson({ error }, { status: 404 }))
    const reply = await messages()
    expect(reply.status).toBe(404)
    expect(await reply.json()).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error', message: expect.stringContaining('model: ') },
    })
  })

  it("about the gateway's account are upstream_auth", async () => {
    const error = {
      code: 403,
      message: "Permission 'aiplatform.endpoints.predict' denied.",
      status: 'PERMISSION_DENIED',
    }
    const { chat } = gatewayTo(asJson({ error }, { status: 403 }))
    const reply = await chat({ model: 'gemini-x' })
    expect([reply.status, await reply.text()]).toEqual([502, expect.not.stringContaining('aiplatform')])
  })

  it('about a missing token are logged, not shown to the client, and end with their cause', async () => {
    token.mockRejectedValueOnce(new Error('metadata server is down at 169.254.169.254'))
    const { chat, seen, logged } = gatewayTo(inItsFormat(false))
    const reply = await chat({ model: 'gemini-x' })
    expect([reply.status, await reply.text()]).toEqual([502, expect.not.stringContaining('169.254')])
    expect(seen).toEqual([])
    expect(logged.length).toBeGreaterThan(0)
    expect((await chat({ model: 'gemini-x' })).status).toBe(200)
  })
})
