import { describe, expect, it } from 'vitest'
import { type Answer, asJson, asStream, completion, message, setUp, sse } from './create-gateway.test-support.ts'

describe('pass-through', () => {
  it('forwards the request and the response byte for byte', async () => {
    const odd = '{ "id":"x", "big":12345678901234567890, "choices":[ {} ], "usage":null }'
    const { post, seen } = setUp({ a: () => new Response(odd) })
    const body =
      '{\n "model": "real", "messages": [{"role":"user","content":"h\\u00ef"}], "invented": 12345678901234567890 }'
    const reply = await post('/v1/chat/completions', body)
    expect(await reply.text()).toBe(odd)
    expect(seen[0]?.body).toBe(body)
    expect(seen[0]?.url).toBe('http://a/v1/chat/completions')
  })

  it('replaces only the model name', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const body = '{"messages":[{"role":"user","content":"\\"model\\": \\"alias\\""}], "model":\t"alias" }'
    await post('/v1/chat/completions', body)
    expect(seen[0]?.body).toBe(body.replace('\t"alias"', '\t"real"'))
  })

  it('sends neither the client’s token to the upstream nor the upstream’s key to the client', async () => {
    const { chat, seen } = setUp({ a: asJson(completion) })
    const reply = await chat({}, { 'x-api-key': 'good', cookie: 'c=1', 'openai-organization': 'o' })
    expect(JSON.stringify([...reply.headers])).not.toContain('canary')
    expect(Object.fromEntries(seen[0]?.headers ?? [])).toEqual({
      authorization: 'Bearer sk-canary-aaaaaaaa',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
    })
  })

  it('requests usage that the client did not request and removes it from the stream', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
    const noted = sse.slice(0, -1).map((event) => event.replace('}\n\n', ',"usage":null}\n\n'))
    const extra = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [], usage })}\n\n`
    const { chat, seen, finished } = setUp({ a: asStream([...noted, extra, 'data: [DONE]\n\n']) })
    const reply = await chat({ stream: true })
    expect(await reply.text()).toBe(sse.join(''))
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ stream_options: { include_usage: true } })
    expect(finished[0]).toMatchObject({
      lane: 'wire',
      outcome: 'finished',
      usage: { input: { total: 3 }, output: { total: 2 } },
    })
  })

  it('translates the request instead when the body contains another vendor’s seal', async () => {
    const { messages, seen, finished } = setUp({ m: asJson(message) })
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'mgs1.chat.' }
    await messages({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [thinking, { type: 'text', text: 'b' }] },
        { role: 'user', content: 'c' },
      ],
    })
    expect(seen[0]?.body).not.toContain('mgs1.')
    expect(finished[0]).toMatchObject({ lane: 'translate', losses: [{ path: '/messages/1/content/0' }] })
  })
})

describe('fallback between targets', () => {
  const failures: [string, Answer | undefined][] = [
    ['a failed connection', undefined],
    ['a 429 response', asJson({ error: { message: 'slow' } }, { status: 429 })],
    ['a 500 response', asJson({ error: { message: 'oops' } }, { status: 500 })],
    ['a 401 response', asJson({ error: { message: 'bad key' } }, { status: 401 })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'http://evil' } })],
    ['an HTML body with status 200', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['a null body with status 200', asJson(null)],
    ['an empty body', () => new Response('')],
  ]
  it.each(failures)('falls back to the next target after %s', async (_, first) => {
    const { chat, seen, finished } = setUp(
      { ...(first === undefined ? {} : { a: first }), b: asJson(completion) },
      { retry: { attempts: 2 } },
    )
    const reply = await chat({ model: 'both' })
    expect(reply.status).toBe(200)
    expect(seen.map(({ url }) => new URL(url).host)).toEqual(['a', 'b'])
    expect(finished).toHaveLength(1)
    expect(finished[0]).toMatchObject({
      upstream: 'b',
      status: 200,
      attempts: [{ upstream: 'a' }, { upstream: 'b', status: 200 }],
    })
  })

  it('does not fall back when the request is invalid', async () => {
    const { chat, seen } = setUp({
      a: asJson({ error: { message: 'bad', type: 'invalid_request_error', param: 'x', code: null } }, { status: 400 }),
      b: asJson(completion),
    })
    const reply = await chat({ model: 'both' })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toEqual({
      error: { message: 'bad', type: 'invalid_request_error', param: 'x', code: null },
    })
    expect(seen).toHaveLength(1)
  })

  it('falls back after an error event before the first content event, but not after a later one', async () => {
    const { chat } = setUp({
      a: asStream(['data: {"error":{"message":"busy","code":"overloaded"}}\n\n']),
      b: asStream(sse),
    })
    expect(await (await chat({ model: 'both', stream: true, stream_options: { include_usage: true } })).text()).toBe(
      sse.join(''),
    )
    const delayed = setUp({
      a: asStream([...sse.slice(0, 2), 'data: {"error":{"message":"busy"}}\n\n'], 5),
      b: asStream(sse),
    })
    const text = await (await delayed.chat({ model: 'both', stream: true })).text()
    expect(text).toContain('"busy"')
    expect(text).not.toContain('[DONE]')
    expect(delayed.seen).toHaveLength(1)
    expect(delayed.finished).toMatchObject([{ outcome: 'failed' }])
  })

  it('returns the last failure without host names', async () => {
    const { chat } = setUp({})
    const reply = await chat({ model: 'both' })
    expect(reply.status).toBe(502)
    const text = await reply.text()
    expect(text).not.toMatch(/internal-host|ENOTFOUND|canary|http:/)
    expect(JSON.parse(text).error).toMatchObject({ message: expect.any(String), param: null })
  })

  it('returns a non-retryable 502 and logs the upstream that rejects the configured key', async () => {
    const { messages, logged } = setUp({
      m: asJson(
        { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
        { status: 401 },
      ),
    })
    const reply = await messages()
    expect(reply.status).toBe(502)
    expect(reply.headers.get('x-should-retry')).toBe('false')
    expect(await reply.json()).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    expect(JSON.stringify(logged)).toContain("'m'")
  })
})

describe('losses', () => {
  it('reports losses in a response header and to onFinish', async () => {
    const { chat, finished } = setUp({ m: asJson(message) })
    const reply = await chat({ model: 'claude-x', seed: 7, max_tokens: 10 })
    expect(reply.headers.get('modelgate-loss')).toContain('"/seed";kind=unsupported;severity=warn')
    expect(finished[0]?.losses).toContainEqual(expect.objectContaining({ path: '/seed', severity: 'warn' }))
    expect(await reply.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'hello' } }],
    })
  })

  it("returns 400 without an upstream call under onLoss 'reject' unless a target loses nothing", async () => {
    const { chat, seen } = setUp({ m: asJson(message), a: asJson(completion) }, { onLoss: 'reject' })
    const reply = await chat({ model: 'claude-x', seed: 7, max_tokens: 10 })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: { param: 'seed', code: 'unsupported_parameter' } })
    expect(seen).toHaveLength(0)
    expect((await chat({ model: 'mixed', seed: 7 })).status).toBe(200)
    expect(new URL(seen[0]?.url ?? '').host).toBe('a')
  })

  it("omits the loss header under onLoss 'ignore' but still reports losses to onFinish", async () => {
    const { chat, finished } = setUp({ m: asJson(message) }, { onLoss: 'ignore' })
    const reply = await chat({ model: 'claude-x', seed: 7, max_tokens: 10 })
    expect(reply.headers.get('modelgate-loss')).toBeNull()
    expect(finished[0]?.losses).toContainEqual(expect.objectContaining({ path: '/seed' }))
  })
})

describe('onFinish', () => {
  it('logs errors of onFinish hooks without failing the call', async () => {
    const bad = { name: 'bad', onFinish: () => Promise.reject(new Error('x')) }
    const worse = {
      name: 'worse',
      onFinish: () => {
        throw new Error('y')
      },
    }
    // Query builders return thenables that start only when they are awaited.
    const lazy = {
      name: 'lazy',
      onFinish: () => {
        const started = (_: unknown, reject: (error: Error) => void): void => reject(new Error('z'))
        return Object.defineProperty({}, 'then', { value: started }) as Promise<void>
      },
    }
    const { chat, logged } = setUp({ a: asJson(completion) }, { plugins: [bad, worse, lazy] })
    expect((await chat()).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve))
    for (const { name } of [bad, worse, lazy]) expect(JSON.stringify(logged)).toContain(`'${name}'`)
  })

  it('is called once, and the upstream request is aborted, when the client disconnects mid-stream', async () => {
    let upstreamSignal: AbortSignal | undefined
    const { chat, finished } = setUp({
      a: (_, signal) => {
        upstreamSignal = signal
        return new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode(sse.slice(0, 2).join(''))),
          }),
          {
            headers: { 'content-type': 'text/event-stream' },
          },
        )
      },
    })
    const reply = await chat({ stream: true, stream_options: { include_usage: true } })
    const reader = reply.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect(upstreamSignal?.aborted).toBe(true)
    expect(finished).toMatchObject([{ outcome: 'aborted', status: 200 }])
  })

  it('is called once when the client disconnects before the response', async () => {
    const controller = new AbortController()
    const { chat, finished } = setUp({
      a: (_, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    })
    const reply = chat({}, {}, { signal: controller.signal })
    await new Promise((resolve) => setTimeout(resolve, 10))
    controller.abort()
    expect((await reply).status).toBe(499)
    expect(finished).toMatchObject([{ outcome: 'aborted' }])
  })
})

describe('an auth function that never settles', () => {
  const never = { auth: () => new Promise<never>(() => {}) }

  it('does not hold the call of a client that disconnected', async () => {
    const { chat, gateway, seen, logged } = setUp({ a: asJson(completion) }, never)
    const leaving = new AbortController()
    const call = chat({}, {}, { signal: leaving.signal })
    await new Promise((resolve) => setTimeout(resolve, 5))
    leaving.abort()
    expect((await call).status).toBe(499)
    // No call remains that closing would have to wait for.
    await gateway.close()
    expect({ seen, logged }).toEqual({ seen: [], logged: [] })
  })

  it('does not delay closing the gateway', async () => {
    const { chat, gateway } = setUp({ a: asJson(completion) }, never)
    const call = chat()
    await gateway.close({ graceMs: 5 })
    expect((await call).status).toBe(503)
  })
})
