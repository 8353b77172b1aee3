import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createXai } from '@ai-sdk/xai'
import { GoogleGenAI } from '@google/genai'
import { GoogleGenerativeAI } from '@google/generative-ai'
import { createGateway, gemini, openai, vertex } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { nodeListener } from '@modelgate/node'
import serverlessExpress from '@vendia/serverless-express'
import express from 'express'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type JsonObject, listOf, objectOf } from '../base/json.ts'

/** Silence of the upstream before its first event and between two events; a heartbeat comes every 10 ms. */
const silenceMs = 60

let received: { readonly path: string; readonly body: JsonObject }[] = []
/** Events that the upstream streams, in order. */
let script: readonly (JsonObject | '[DONE]')[] = []
/** Response of the upstream instead of a stream. */
let answer: JsonObject | undefined

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, silenceMs))

const provider = (async (url: string | URL, init: RequestInit) => {
  const body = objectOf(JSON.parse(Buffer.from(init.body as string | Uint8Array<ArrayBuffer>).toString()))
  received.push({ path: new URL(url).pathname, body })
  if (answer !== undefined) return Response.json(answer)
  const events = script
  const encoder = new TextEncoder()
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (const event of events) {
        await pause()
        const name = typeof event === 'object' && typeof event.type === 'string' ? `event: ${event.type}\n` : ''
        controller.enqueue(encoder.encode(`${name}data: ${event === '[DONE]' ? event : JSON.stringify(event)}\n\n`))
      }
      controller.close()
    },
  })
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
}) as typeof fetch

const gateway = createGateway({
  auth: () => ({ id: 'me' }),
  upstreams: {
    openai: openai({ apiKey: 'k', baseURL: 'http://openai.test/v1' }),
    google: gemini({ apiKey: 'k', baseURL: 'http://google.test' }),
    cloud: vertex({ project: 'p', location: 'global', token: () => 't' }),
  },
  models: {
    'gpt-*': 'openai',
    'gemini-*': 'google',
    'text-embedding-005': 'cloud',
    'text-embedding-004': { upstream: 'openai', model: 'text-embedding-3-small' },
  },
  limits: { heartbeatMs: 10, holdMs: 5 },
  logger: false,
  fetch: provider,
})

let server: Server
let origin = ''
beforeAll(async () => {
  server = createServer(nodeListener(gateway))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())
beforeEach(() => {
  received = []
  answer = undefined
})

const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const chatText = [
  chunk({ role: 'assistant', content: 'Good ' }),
  chunk({ content: 'day' }),
  chunk({}, 'stop'),
  { ...chunk({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
  '[DONE]' as const,
]
const chatCall = [
  chunk({
    role: 'assistant',
    content: null,
    tool_calls: [
      { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
    ],
  }),
  chunk({}, 'tool_calls'),
  '[DONE]' as const,
]
const googleText = [
  { candidates: [{ content: { parts: [{ text: 'Good ' }], role: 'model' }, index: 0 }] },
  {
    candidates: [{ content: { parts: [{ text: 'day' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  },
]

describe('@google/generative-ai, the predecessor of @google/genai', () => {
  const chat = (model: string) =>
    new GoogleGenerativeAI('me').getGenerativeModel({ model }, { baseUrl: origin }).startChat()

  test.each([
    ['a translated response', 'gpt-5', chatText],
    ['a pass-through response', 'gemini-3', googleText],
  ])('keeps a streamed turn of %s with heartbeats in its history', async (_name, model, events) => {
    script = events
    const session = chat(model)
    const { stream, response } = await session.sendMessageStream('Hello')
    const texts: string[] = []
    for await (const part of stream) if (part.text() !== '') texts.push(part.text())
    expect(texts).toEqual(['Good ', 'day'])
    const whole = await response
    expect([whole.candidates?.[0]?.finishReason, whole.usageMetadata?.totalTokenCount]).toEqual(['STOP', 5])
    expect((await session.getHistory()).map(({ role }) => role)).toEqual(['user', 'model'])
  })

  test('completes a tool loop', async () => {
    script = chatCall
    const session = chat('gpt-5')
    const { response } = await session.sendMessageStream('Weather in Oslo?')
    expect((await response).functionCalls()).toMatchObject([{ name: 'weather', args: { city: 'Oslo' } }])
    script = chatText
    await (await session.sendMessageStream([{ functionResponse: { name: 'weather', response: { sky: 'clear' } } }]))
      .response
    const roles = listOf(received[1]?.body.messages).map((message) => objectOf(message).role)
    expect(roles).toEqual(['user', 'assistant', 'tool'])
    expect((await session.getHistory()).map(({ role }) => role)).toEqual(['user', 'model', 'function', 'model'])
  })
})

test('keeps a streamed turn with heartbeats in the history of @google/genai', async () => {
  script = chatText
  const session = new GoogleGenAI({ apiKey: 'me', httpOptions: { baseUrl: origin } }).chats.create({ model: 'gpt-5' })
  let text = ''
  for await (const part of await session.sendMessageStream({ message: 'Hello' })) text += part.text ?? ''
  expect(text).toBe('Good day')
  const roles = session.getHistory(true).map(({ role }) => role)
  expect([roles[0], new Set(roles.slice(1))]).toEqual(['user', new Set(['model'])])
})

const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] }
const message = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' }
const content = [{ type: 'output_text', text: 'Good day', annotations: [] }]
const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
const responsesText = [
  { type: 'response.created', sequence_number: 0, response },
  { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...message, content: [] } },
  {
    type: 'response.output_text.delta',
    sequence_number: 2,
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta: 'Good day',
  },
  { type: 'response.output_item.done', sequence_number: 3, output_index: 0, item: { ...message, content } },
  {
    type: 'response.completed',
    sequence_number: 4,
    response: { ...response, status: 'completed', output: [{ ...message, content }], usage },
  },
]

test.each([
  ['translated', 'gemini-3', googleText],
  ['pass-through', 'gpt-5', responsesText],
])('sends a Responses stream with heartbeats that @ai-sdk/xai reads, %s', async (_name, name, events) => {
  script = events
  const model = createXai({ apiKey: 'me', baseURL: `${origin}/v1` }).responses(name)
  const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] })
  const errors: unknown[] = []
  let text = ''
  for await (const part of stream) {
    if (part.type === 'error') errors.push(part.error)
    if (part.type === 'text-delta') text += part.delta
  }
  expect(errors).toEqual([])
  expect(text).toBe('Good day')
})

describe('text embeddings with `:predict`, as the SDK requests them of Vertex AI', () => {
  const client = () => new GoogleGenAI({ vertexai: true, apiKey: 'me', httpOptions: { baseUrl: origin } })
  const config = { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 2 }
  const contents = ['Good', 'day']

  test('pass to Vertex AI', async () => {
    const statistics = { token_count: 1, truncated: false }
    answer = { predictions: contents.map((_, index) => ({ embeddings: { values: [index, 0.5], statistics } })) }
    const { embeddings } = await client().models.embedContent({ model: 'text-embedding-005', contents, config })
    expect(embeddings?.map(({ values }) => values)).toEqual([
      [0, 0.5],
      [1, 0.5],
    ])
    expect(received[0]?.path).toMatch(/text-embedding-005:predict$/)
    expect(objectOf(received[0]?.body)).toMatchObject({
      instances: contents.map((content) => ({ content, task_type: 'RETRIEVAL_QUERY' })),
      parameters: { outputDimensionality: 2 },
    })
  })

  test('are translated for other providers', async () => {
    const data = contents.map((_, index) => ({ object: 'embedding', index, embedding: [index, 0.5] }))
    answer = { object: 'list', data, model: 'm', usage: { prompt_tokens: 2, total_tokens: 2 } }
    const { embeddings } = await client().models.embedContent({
      model: 'text-embedding-004',
      contents,
      config: { outputDimensionality: 2 },
    })
    expect(embeddings?.map(({ values }) => values)).toEqual([
      [0, 0.5],
      [1, 0.5],
    ])
    expect(received[0]).toMatchObject({ path: '/v1/embeddings', body: { input: contents, dimensions: 2 } })
  })
})

test('ends a stream through Express on Lambda (serverless-express)', async () => {
  script = chatText
  const lambda = serverlessExpress({ app: express().use(expressMiddleware(gateway)) })
  const invoke = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { pathname: rawPath } = new URL(String(url))
    const event = {
      version: '2.0',
      rawPath,
      rawQueryString: '',
      headers: Object.fromEntries(new Headers(init.headers)),
      requestContext: { http: { method: init.method, path: rawPath, sourceIp: '127.0.0.1' } },
      body: init.body,
      isBase64Encoded: false,
    }
    const reply = (await lambda(event, {}, () => {})) as unknown as {
      statusCode: number
      headers: Record<string, string>
      body: string
      isBase64Encoded: boolean
    }
    const body = Buffer.from(reply.body, reply.isBase64Encoded ? 'base64' : 'utf8')
    return new Response(body, { status: reply.statusCode, headers: reply.headers })
  }
  const client = new OpenAI({ apiKey: 'me', baseURL: 'http://lambda.test/v1', maxRetries: 0, fetch: invoke })
  const request = { model: 'gpt-5', messages: [{ role: 'user' as const, content: 'Hello' }], stream: true as const }
  let text = ''
  for await (const part of await client.chat.completions.create(request)) text += part.choices[0]?.delta.content ?? ''
  expect(text).toBe('Good day')
}, 10_000)
