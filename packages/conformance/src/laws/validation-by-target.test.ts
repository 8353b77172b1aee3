import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { anthropic, createGateway, type FinishEvent, gemini, openai, openaiCompatible } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type JsonObject, listOf, objectOf } from '../base/json.ts'

/** Credential and body that the fake provider received. */
interface Received {
  readonly key: string
  readonly path: string
  readonly body: JsonObject
}

let received: Received[] = []
let finished: FinishEvent[] = []
let serial = 0

const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4 }

/** Returns each provider's response to any request. */
function answerOf(path: string, body: JsonObject): JsonObject {
  if (path.endsWith('/chat/completions'))
    return {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
    }
  if (path.endsWith('/responses'))
    return {
      id: `resp_${++serial}`,
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
        },
      ],
      usage,
    }
  if (path.includes('/messages'))
    return {
      id: `msg_${++serial}`,
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: body.max_tokens === 0 ? [] : [{ type: 'text', text: 'Hi' }],
      stop_reason: body.max_tokens === 0 ? 'max_tokens' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: body.max_tokens === 0 ? 0 : 1 },
    }
  return { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] }
}

function eventsOf(message: JsonObject): string {
  const events: JsonObject[] = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

const provider = (async (url: string | URL, init: RequestInit) => {
  const headers = new Headers(init.headers)
  const body = objectOf(JSON.parse(Buffer.from(init.body as string | Uint8Array<ArrayBuffer>).toString()))
  const path = new URL(url).pathname
  received.push({ key: headers.get('x-api-key') ?? headers.get('authorization') ?? '', path, body })
  const answer = answerOf(path, body)
  return body.stream === true
    ? new Response(eventsOf(answer), { headers: { 'content-type': 'text/event-stream' } })
    : Response.json(answer)
}) as typeof fetch

const gateway = createGateway({
  auth: (token) => ({ id: token }),
  upstreams: {
    claude: anthropic({ apiKey: ['key-a', 'key-b', 'key-c'], baseURL: 'http://claude.test' }),
    openai: openai({ apiKey: 'key-o', baseURL: 'http://openai.test/v1' }),
    google: gemini({ apiKey: 'key-g', baseURL: 'http://google.test' }),
    other: openaiCompatible({ baseURL: 'http://other.test/v1', apiKey: 'key-x', formats: ['messages'] }),
  },
  models: {
    claude: 'claude',
    gpt: 'openai',
    google: 'google',
    other: 'other',
    'claude-first': [{ upstream: 'claude' }, { upstream: 'openai' }],
  },
  plugins: [{ name: 'watch', onFinish: (event) => void finished.push(event) }],
  logger: false,
  fetch: provider,
})

beforeEach(() => {
  received = []
  finished = []
})

const base = 'http://gateway.test'
const chat = new OpenAI({ apiKey: 'me', baseURL: `${base}/v1`, fetch: gateway.fetch, maxRetries: 0 })
const claude = (apiKey = 'me') =>
  new Anthropic({ apiKey, baseURL: base, fetch: gateway.fetch, maxRetries: 0, logLevel: 'off' })

/** Passes values that an SDK's types lack. */
const unpublished = <T>(value: unknown): T => value as T
const hello = [{ role: 'user', content: 'Hello' }] as const

describe('value that only the provider knows, sent to an upstream of the same format', () => {
  test.each([
    ['an effort of Groq', { reasoning_effort: 'default' }],
    ['a role', { messages: [...hello, { role: 'latest_reminder', content: 'Be brief.' }] }],
    ['a part without its content', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }],
    ['a token limit', { max_tokens: 0 }],
  ])('passes through from a chat client: %s', async (_name, fields) => {
    await chat.chat.completions.create(unpublished({ model: 'gpt', messages: hello, ...fields }))
    expect(received[0]?.body).toEqual({ model: 'gpt', messages: hello, ...fields })
  })

  test.each([
    ['a result without its call id', { input: [{ type: 'function_call_output', output: 'sunny' }] }],
    ['an effort', { reasoning: { effort: 'default' } }],
    ['a truncation', { truncation: 'middle' }],
    ['a role', { input: [{ role: 'critic', content: 'Hm.' }] }],
  ])('passes through from a Responses client: %s', async (_name, fields) => {
    const body = { model: 'gpt', input: 'Hello', ...fields }
    await chat.responses.create(unpublished(body))
    expect(received[0]?.body).toEqual(body)
  })

  test.each([
    ['a role', { messages: [...hello, { role: 'tool', content: 'sunny' }] }],
    ['an effort', { output_config: { effort: 'extreme' } }],
    ['a thinking type', { thinking: { type: 'enabled' } }],
  ])('passes through from a Messages client: %s', async (_name, fields) => {
    const body = { model: 'claude', max_tokens: 9, messages: hello, ...fields }
    await claude().messages.create(unpublished(body))
    expect(received[0]?.body).toEqual(body)
  })

  test('passes through from a Gemini client: the role `assistant`', async () => {
    const { port } = server.address() as AddressInfo
    const client = new GoogleGenAI({ apiKey: 'me', httpOptions: { baseUrl: `http://127.0.0.1:${port}` } })
    const contents = [
      { role: 'user', parts: [{ text: 'Hello' }] },
      { role: 'assistant', parts: [{ text: 'Hi' }] },
      { role: 'user', parts: [{ text: 'Again' }] },
    ]
    expect((await client.models.generateContent({ model: 'google', contents })).text).toBe('Hi')
    expect(received[0]?.body.contents).toEqual(contents)
  })
})

describe('specification limits for every target', () => {
  test.each([
    [{ temperature: 2.1 }],
    [{ top_p: 1.1 }],
    [{ n: 0 }],
    [{ presence_penalty: -2.1 }],
    [{ frequency_penalty: 2.1 }],
    [{ temperature: 'warm' }],
    [{ messages: [] }],
    [{ messages: [{ role: 'user' }] }],
    [{ messages: [{ content: 'Hello' }] }],
    [{ stream: 'yes' }],
  ])('reject chat with %j with 400', async (fields) => {
    const call = chat.chat.completions.create(unpublished({ model: 'gpt', messages: hello, ...fields }))
    await expect(call).rejects.toMatchObject({ status: 400 })
    expect(received).toEqual([])
  })

  test.each([[{ max_tokens: 0 }], [{ max_tokens: -1 }], [{ max_tokens: undefined }], [{ temperature: 1.1 }]])(
    'reject Messages with %j with 400',
    async (fields) => {
      const call = claude().messages.create(unpublished({ model: 'claude', max_tokens: 9, messages: hello, ...fields }))
      await expect(call).rejects.toMatchObject({ status: 400 })
      expect(received).toEqual([])
    },
  )

  test('accept Messages with `max_tokens: 0`, which fills the cache, with a cache breakpoint only, and reject it in translation', async () => {
    const marked = { cache_control: { type: 'ephemeral' as const } }
    const body = { max_tokens: 0, messages: [...hello], system: [{ type: 'text' as const, text: 'Long.', ...marked }] }
    const answer = await claude().messages.create({ model: 'claude', ...body })
    expect([answer.content, answer.usage.output_tokens]).toEqual([[], 0])
    expect(received[0]?.body).toEqual({ model: 'claude', ...body })
    await expect(claude().messages.create({ model: 'gpt', ...body })).rejects.toMatchObject({ status: 400 })
    expect(received).toHaveLength(1)
  })
})

describe('target that does not support a value', () => {
  test('is skipped and reported, and the next one serves the call', async () => {
    const body = { model: 'claude-first', messages: hello, reasoning_effort: 'default' }
    const { response } = await chat.chat.completions
      .create(unpublished<OpenAI.ChatCompletionCreateParamsNonStreaming>(body))
      .withResponse()
    expect(received.map(({ path }) => path)).toEqual(['/v1/chat/completions'])
    expect(response.headers.get('modelgate-upstream')).toBe('openai')
    expect(response.headers.get('modelgate-skipped')).toBe('"claude";model="claude-first";param="reasoning_effort"')
    expect(finished[0]?.skipped).toEqual([
      {
        upstream: 'claude',
        model: 'claude-first',
        reason: expect.stringContaining("'default'"),
        param: 'reasoning_effort',
      },
    ])
  })

  test('causes a 400 in the client’s dialect if no other target is left', async () => {
    const call = chat.chat.completions.create(
      unpublished({ model: 'claude', messages: hello, reasoning_effort: 'default' }),
    )
    await expect(call).rejects.toMatchObject({ status: 400, param: 'reasoning_effort', code: 'invalid_value' })
    expect(received).toEqual([])
  })

  test('is listed as rejected by explain', async () => {
    const { plan } = await gateway.explain(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer me', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'claude-first', messages: hello, reasoning_effort: 'default' }),
    })
    expect(plan.map(({ upstream, refused }) => [upstream, refused?.param])).toEqual([
      ['openai', undefined],
      ['claude', 'reasoning_effort'],
    ])
  })
})

describe('diagnostics thread of Anthropic’s SDK', () => {
  const turn = { model: 'claude', max_tokens: 9 }
  const threads = (): unknown[] => received.map(({ body }) => objectOf(body.thread).type)

  test.each([
    ['whole', async (thread: Thread, text: string) => void (await thread.send(output(text)))],
    ['streamed', async (thread: Thread, text: string) => void (await thread.stream(output(text)).finalMessage())],
  ])('passes to Anthropic with one key for all turns, %s', async (_name, say) => {
    const thread = claude().beta.messages.thread(turn)
    for (const text of ['one', 'two', 'three', 'four']) await say(thread, text)
    expect(threads()).toEqual(['create', 'continue', 'continue', 'continue'])
    expect(received.map(({ body }) => listOf(body.messages).length)).toEqual([1, 1, 1, 1])
    expect(new Set(received.map(({ key }) => key)).size).toBe(1)
  })

  test('uses all keys for different callers', async () => {
    for (let caller = 0; caller < 24; caller++)
      await claude(`caller-${caller}`).beta.messages.thread(turn).send(output('Hello'))
    expect(new Set(received.map(({ key }) => key)).size).toBe(3)
  })

  test('is unknown to another caller, so that the SDK sends the whole conversation again', async () => {
    const body = { ...turn, messages: [...hello] }
    const first = await claude('alice').beta.messages.create({ ...body, thread: { type: 'create' } })
    const thread = { type: 'continue', previous_message_id: first.id } as const
    await expect(claude('bob').beta.messages.create({ ...body, thread })).rejects.toMatchObject({
      status: 400,
      error: { error: { details: { error_code: 'thread_not_found' } } },
    })
    await claude('alice').beta.messages.create({ ...body, thread })
    expect(threads()).toEqual(['create', 'continue'])
  })

  test.each(['gpt', 'other'])('is dropped for %s, and the SDK continues without it', async (model) => {
    const thread = claude().beta.messages.thread({ ...turn, model, unsupportedRequestBehavior: 'continue_unthreaded' })
    await thread.send(output('one'))
    await thread.send(output('two'))
    expect(threads()).toEqual([undefined, undefined])
    expect(JSON.stringify(received[1]?.body)).toContain('one')
  })
})

const output = (content: string) => ({ role: 'user' as const, content })
type Thread = ReturnType<Anthropic['beta']['messages']['thread']>

let server: Server
beforeAll(async () => {
  server = createServer(nodeListener(gateway))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => server.close())
