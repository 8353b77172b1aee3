import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import type { CapturedBody } from '../config/call-bodies.ts'
import { eventFrame } from '../http/frames/frames.test-support.ts'
import { asBytes, recording, upload } from '../operations/audio/audio.test-support.ts'
import { bedrock } from '../upstreams/bedrock.ts'
import { adapterFunctions } from './adapter.ts'
import { capturing } from './call-bodies.test-support.ts'
import {
  type Answer,
  asJson,
  asStream,
  chunk,
  completion,
  generated,
  generatedEvents,
  message,
  sse,
} from './create-gateway.test-support.ts'

const jsonOf = (body: CapturedBody | undefined): unknown => JSON.parse(body?.text() ?? 'null')
const question = { messages: [{ role: 'user', content: 'hi' }] }
const embedded = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  model: 'real',
  usage: { prompt_tokens: 1, total_tokens: 1 },
}

describe('the bodies of a call', () => {
  it('are those of a request that passes unchanged', async () => {
    const { chat, seen, bodies } = capturing({ a: asJson(completion) })
    const text = await (await chat({ model: 'alias' })).text()
    const { request, response, attempts } = await bodies()
    expect(request).toMatchObject({ kind: 'text', contentType: 'application/json', isCut: false, isComplete: true })
    expect(jsonOf(request)).toEqual({ model: 'alias', ...question })
    expect(attempts).toHaveLength(1)
    expect(attempts[0]).toMatchObject({ index: 0, path: '/v1/chat/completions' })
    expect(attempts[0]?.request?.text()).toBe(seen[0]?.body)
    expect(jsonOf(attempts[0]?.response)).toEqual(completion)
    expect(response?.text()).toBe(text)
    expect(response).toMatchObject({ isComplete: true, size: text.length })
  })

  it.each<[string, object, string, Answer, string]>([
    ['messages', { model: 'claude-x' }, 'm', asJson(message), '/v1/messages'],
    ['gemini', { model: 'gemini-x' }, 'g', asJson(generated), '/v1beta/models/gemini-x:generateContent'],
    [
      'gemini',
      { model: 'gemini-x', stream: true },
      'g',
      asStream(generatedEvents),
      '/v1beta/models/gemini-x:streamGenerateContent',
    ],
  ])('are those of both sides of a translation to %s: %j', async (_format, extra, host, answer, path) => {
    const { chat, seen, bodies } = capturing({ [host]: answer })
    const text = await (await chat(extra)).text()
    const { request, response, attempts } = await bodies()
    expect(jsonOf(request)).toMatchObject(extra)
    expect(attempts).toMatchObject([{ path, response: { isComplete: true } }])
    expect(attempts[0]?.request?.text()).toBe(seen[0]?.body)
    expect(attempts[0]?.response?.text()).toContain('hel')
    expect([response?.text(), response?.isComplete]).toEqual([text, true])
  })

  it('are those of a stream, event by event', async () => {
    const { chat, bodies } = capturing({ a: asStream(sse) })
    const text = await (await chat({ stream: true })).text()
    const { response, attempts } = await bodies()
    expect(response).toMatchObject({ contentType: 'text/event-stream; charset=utf-8', isComplete: true })
    expect(response?.text()).toBe(text)
    expect(attempts[0]?.response).toMatchObject({ contentType: 'text/event-stream', isComplete: true })
    expect(attempts[0]?.response?.text()).toBe(sse.join(''))
  })

  it('are those of a stream that its client reads as one array', async () => {
    const { post, bodies } = capturing({ g: asStream(generatedEvents) })
    const response = await post('/v1beta/models/gemini-x:streamGenerateContent', {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    })
    const text = await response.text()
    const captured = (await bodies()).response
    expect([captured?.text(), captured?.contentType]).toEqual([text, 'application/json; charset=utf-8'])
  })

  it('include the events of an upstream with its own binary framing', async () => {
    const frames = [
      eventFrame('messageStart', { role: 'assistant' }),
      eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hello' } }),
      eventFrame('messageStop', { stopReason: 'end_turn' }),
    ]
    const { chat, bodies } = capturing(
      {
        'bedrock-runtime.us-east-1.amazonaws.com': () =>
          new Response(new Blob(frames as BlobPart[]), {
            headers: { 'content-type': 'application/vnd.amazon.eventstream' },
          }),
      },
      { upstreams: { b: bedrock({ region: 'us-east-1', apiKey: 'bedrock-canary-key' }) }, models: { '*': 'b' } },
    )
    await (await chat({ model: 'us.amazon.nova-2-lite-v1:0', stream: true })).text()
    const { attempts } = await bodies()
    expect(attempts[0]?.response).toMatchObject({ kind: 'text', contentType: 'text/event-stream', isComplete: true })
    expect(attempts[0]?.response?.text()).toContain('"text":"hello"')
  })

  it.each<[string, string, object, Answer]>([
    ['embeddings', '/v1/embeddings', { input: 'hi' }, asJson(embedded)],
    ['moderations', '/v1/moderations', { input: 'hi' }, asJson({ id: 'm', model: 'real', results: [] })],
    [
      'completions',
      '/v1/completions',
      { prompt: 'hi' },
      asJson({ ...completion, object: 'text_completion', choices: [{ index: 0, text: 'x', finish_reason: 'stop' }] }),
    ],
    [
      'images',
      '/v1/images/generations',
      { prompt: 'a cat' },
      asJson({ created: 1, data: [{ b64_json: 'iVBORw0KGgo' }] }),
    ],
  ])('are those of %s', async (_operation, path, extra, answer) => {
    const { post, bodies } = capturing({ a: answer })
    const text = await (await post(path, { model: 'real', ...extra })).text()
    const { request, response, attempts } = await bodies()
    expect(jsonOf(request)).toEqual({ model: 'real', ...extra })
    expect(attempts).toMatchObject([{ path, request: { isComplete: true }, response: { isComplete: true } }])
    expect(response?.text()).toBe(text)
  })

  it('are those of a token count', async () => {
    const { post, bodies } = capturing({ m: asJson({ input_tokens: 7 }) })
    await (
      await post('/v1/messages/count_tokens', { model: 'claude-x', ...question }, { 'anthropic-version': '2023-06-01' })
    ).text()
    const { request, response, attempts } = await bodies()
    expect(jsonOf(request)).toEqual({ model: 'claude-x', ...question })
    expect(attempts).toMatchObject([{ path: '/v1/messages/count_tokens' }])
    expect(jsonOf(response)).toEqual({ input_tokens: 7 })
  })

  it('have the type and size of binary content in place of it', async () => {
    const { post, bodies } = capturing({ a: asBytes([new Uint8Array(700), new Uint8Array(500)], 'audio/mpeg') })
    await (await post('/v1/audio/speech', { model: 'real', input: 'hi', voice: 'alloy' })).arrayBuffer()
    const binary = { kind: 'binary', contentType: 'audio/mpeg', size: 1200, isCut: false, isComplete: true }
    const { response, attempts } = await bodies()
    expect(response).toMatchObject(binary)
    expect(attempts[0]?.response).toMatchObject(binary)
    expect([response?.text(), attempts[0]?.response?.text()]).toEqual(['', ''])
  })

  it.each(['real', 'gemini-x'])('have the fields of an upload for %s', async (model) => {
    const { gateway, bodies } = capturing({ a: asJson({ text: 'hello' }), g: asJson(generated) })
    await (
      await upload(gateway, [
        ['model', model],
        ['file', recording()],
        ['language', 'en'],
      ])
    ).text()
    const { request, attempts } = await bodies()
    expect(request).toMatchObject({ kind: 'form', isComplete: true })
    expect(request?.contentType).toMatch(/^multipart\/form-data/)
    expect(request?.size).toBeGreaterThan(200)
    const file = { filename: 'a.wav', media_type: 'audio/wav', bytes: 4 }
    expect(jsonOf(request)).toEqual({ model, file, language: 'en' })
    if (model !== 'real') expect(jsonOf(attempts[0]?.request)).toHaveProperty('contents')
    else {
      expect(attempts[0]?.request).toMatchObject({ kind: 'form', isComplete: true })
      expect(attempts[0]?.request?.size).toBeGreaterThan(200)
      expect(jsonOf(attempts[0]?.request)).toEqual({ model, file, language: 'en' })
    }
  })

  it('are those of the client for stored objects, with type and size of uploaded and downloaded files', async () => {
    const file = { id: 'file-1', object: 'file', bytes: 4, created_at: 1, filename: 'a.wav', purpose: 'assistants' }
    const sent = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
      // The upload arrives while the call runs.
      await new Response(init?.body).arrayBuffer()
      return String(input).endsWith('/content')
        ? asBytes([new Uint8Array(700)], 'application/octet-stream')()
        : Response.json(file)
    }
    const { gateway, bodies } = capturing({}, { objects: { upstreams: ['a'] }, fetch: sent })
    const uploaded = await upload(
      gateway,
      [
        ['purpose', 'assistants'],
        ['file', recording()],
      ],
      '/v1/files',
    )
    expect(await uploaded.json()).toEqual(file)
    const created = await bodies()
    expect(created.request).toMatchObject({ kind: 'binary', isComplete: true })
    expect(created.request?.contentType).toMatch(/^multipart\/form-data/)
    expect([jsonOf(created.response), created.attempts]).toEqual([file, []])
    const content = await gateway.fetch('http://gw/v1/files/file-1/content', {
      headers: { authorization: 'Bearer good' },
    })
    expect((await content.arrayBuffer()).byteLength).toBe(700)
    expect((await bodies(2)).response).toMatchObject({ kind: 'binary', size: 700, isComplete: true })
  })

  it('do not contain secrets that a provider issues', async () => {
    const secret = { value: 'ek_canary_0123', expires_at: 1 }
    const { post, bodies } = capturing({ a: asJson(secret) })
    const response = await post('/v1/realtime/client_secrets', { session: { type: 'realtime', model: 'real' } })
    expect(await response.json()).toEqual(secret)
    const captured = await bodies()
    expect(captured.response).toMatchObject({ kind: 'secret', size: JSON.stringify(secret).length })
    expect(captured.attempts[0]?.response).toMatchObject({ kind: 'secret' })
    expect(`${captured.response?.text()}${captured.attempts[0]?.response?.text()}`).toBe('')
  })
})

describe('the bodies of failures', () => {
  const failing = (status: number, words: string): Answer =>
    asJson(
      { error: { message: words, type: 'server_error' } },
      { status, headers: { 'content-type': 'application/json' } },
    )

  it('include the request and the error of each attempt', async () => {
    const { chat, bodies } = capturing(
      { m: failing(500, 'broken m'), a: asJson(completion) },
      { retry: { attempts: 2 } },
    )
    await (await chat({ model: 'mixed' })).text()
    const { attempts, response } = await bodies()
    expect(attempts.map(({ index, path }) => [index, path])).toEqual([
      [0, '/v1/messages'],
      [1, '/v1/chat/completions'],
    ])
    expect(attempts[0]?.response?.text()).toContain('broken m')
    expect(attempts[0]?.request?.text()).toContain('max_tokens')
    expect(jsonOf(attempts[1]?.response)).toEqual(completion)
    expect(response?.text()).toContain('hello')
  })

  it('keep the first three attempts and the last one, and give back the memory of the others', async () => {
    let count = 0
    const answer: Answer = (seen, signal) => failing(500, `broken ${++count}`)(seen, signal)
    const { chat, bodies } = capturing(
      { a: answer, b: answer },
      {
        models: { real: ['a', 'b', ...Array.from({ length: 4 }, (_, n) => ({ upstream: 'a', model: `m${n}` }))] },
        retry: { attempts: 6, budgetFloor: 9, backoffMs: 1, maxBackoffMs: 1 },
        breaker: false,
      },
      { bodyLimits: { maxRunningBytes: 20_000 } },
    )
    for (let n = 1; n <= 20; n++) {
      await (await chat()).text()
      const { attempts, response } = await bodies(n)
      expect(response?.text()).not.toBe('')
      expect(attempts.every(({ request }) => request?.kind === 'text')).toBe(true)
      if (n > 1) continue
      expect(attempts.map(({ index }) => index)).toEqual([0, 1, 2, 5])
      expect(attempts.map(({ response }) => /broken \d/.exec(response?.text() ?? '')?.[0])).toEqual([
        'broken 1',
        'broken 2',
        'broken 3',
        'broken 6',
      ])
    }
  })

  it('have no response of an upstream that was not reached', async () => {
    const { chat, bodies } = capturing({}, { retry: false })
    await (await chat()).text()
    const { attempts, response } = await bodies()
    expect(attempts).toHaveLength(1)
    expect(attempts[0]?.request?.text()).toContain('"real"')
    expect(attempts[0]?.response).toBeUndefined()
    expect(response?.text()).toContain('could not be reached')
  })

  it('have what arrived of a truncated stream, and the error that ended it', async () => {
    const { chat, bodies } = capturing({ a: asStream(sse.slice(0, 2)) })
    const text = await (await chat({ stream: true })).text()
    const { attempts, response } = await bodies()
    expect(attempts[0]?.response).toMatchObject({ isComplete: true })
    expect(attempts[0]?.response?.text()).toBe(sse.slice(0, 2).join(''))
    expect([response?.text(), response?.isComplete]).toEqual([text, false])
    expect(text).toContain('upstream_truncated')
  })

  it('have what arrived before the client disconnected', async () => {
    const { chat, bodies } = capturing({
      a: asStream([...sse.slice(0, 2), ...Array(50).fill(chunk({ content: 'x' }))], 1),
    })
    const reader = (await chat({ stream: true })).body?.getReader()
    await reader?.read()
    await reader?.cancel()
    const { attempts, response } = await bodies()
    expect(response).toMatchObject({ isComplete: false })
    expect(response?.text()).toContain('"role":"assistant"')
    expect(attempts[0]?.response).toMatchObject({ isComplete: false })
  })

  it('have both requests of a hedged call', async () => {
    const never: Answer = (_seen, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
    const { chat, bodies } = capturing(
      { a: never, b: asJson(completion) },
      { models: { real: { targets: ['a', 'b'], hedgeMs: 1 } } },
    )
    await (await chat()).text()
    const { attempts } = await bodies()
    expect(attempts.map(({ response }) => response?.text())).toEqual([undefined, JSON.stringify(completion)])
    expect(attempts[0]?.request?.text()).toContain('"real"')
  })

  it('are reported for a rejected call if its body was read', async () => {
    const { chat, gateway, bodies, all } = capturing({})
    await gateway.fetch('http://gw/v1/chat/completions', {
      method: 'POST',
      body: '{"canary":1}',
      headers: { 'content-type': 'application/json', authorization: 'Bearer wrong' },
    })
    await gateway.fetch('http://gw/v1/models', { headers: { authorization: 'Bearer good' } })
    await (await chat({ messages: 'none' })).text()
    const { request, response, attempts } = await bodies()
    expect(jsonOf(request)).toEqual({ model: 'real', messages: 'none' })
    expect(response?.text()).toContain('messages')
    expect(attempts).toEqual([])
    expect(all).toHaveLength(1)
  })

  it('have the refusal of a realtime session, whose frames are not copied', async () => {
    const { gateway, bodies } = capturing({})
    const all: Record<string, string> = {
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      authorization: 'Bearer good',
    }
    const opening = await adapterFunctions(gateway).realtime(
      {
        method: 'GET',
        path: '/v1/realtime',
        query: 'model=real',
        header: (name) => all[name],
        read: async () => new Uint8Array(),
        signal: createCanceller(),
      },
      async () => ({
        refusal: {
          status: 400,
          header: (name) => (name === 'content-type' ? 'application/json' : undefined),
          bytes: async () => new TextEncoder().encode('{"error":{"message":"no such voice"}}'),
          async *stream() {},
          discard() {},
        },
      }),
    )
    expect(opening.ok).toBe(false)
    const { request, attempts } = await bodies()
    expect(request).toBeUndefined()
    expect(attempts).toMatchObject([{ path: '/v1/realtime' }])
    expect(attempts[0]?.request).toBeUndefined()
    expect(attempts[0]?.response?.text()).toContain('no such voice')
  })
})
