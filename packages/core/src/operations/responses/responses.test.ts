import { describe, expect, it, vi } from 'vitest'
import type { ResponseStore } from '../../config/stores.ts'
import { asJson, asStream, message, setUp } from '../../gateway/create-gateway.test-support.ts'
import { memoryResponseStore } from './store.ts'

const responseWith = (text: string) => asJson({ ...message, content: [{ type: 'text', text }] })
const event = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const streamed = (text: string): string[] => [
  event('message_start', { message: { ...message, content: [], stop_reason: null } }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } }),
  event('message_stop', {}),
]
interface Answer {
  id: string
  store: boolean
  previous_response_id: string | null
  output: { id: string; type: string }[]
}

function setUpState(answers: Parameters<typeof setUp>[0], config: Parameters<typeof setUp>[1] = {}) {
  const setting = setUp(answers, { auth: (token) => ({ id: token }), ...config })
  const ask = async (body: object, token = 'ann'): Promise<Answer> => {
    const reply = await setting.post(
      '/v1/responses',
      { model: 'claude-x', ...body },
      { authorization: `Bearer ${token}` },
    )
    const text = await reply.text()
    if (reply.status !== 200) throw new Error(`${reply.status} ${text}`)
    if (!(body as { stream?: boolean }).stream) return JSON.parse(text) as Answer
    const last = text.split('\n\n').findLast((block) => block.includes('response.completed')) ?? ''
    return (JSON.parse(last.slice(last.indexOf('data: ') + 6)) as { response: Answer }).response
  }
  const call = async (method: string, path: string, token = 'ann') => {
    const reply = await setting.gateway.fetch(`http://gw/v1/responses/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    })
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
  }
  const sentTexts = (): string => JSON.stringify(JSON.parse(setting.seen.at(-1)?.body ?? '{}').messages)
  return { ...setting, ask, call, sentTexts }
}

describe('an upstream without stored responses', () => {
  it.each([false, true])('continues an earlier response, streamed: %s', async (stream) => {
    const { ask, sentTexts } = setUpState({ m: stream ? asStream(streamed('second')) : responseWith('second') })
    const one = await ask({ input: 'first', instructions: 'be kind', stream })
    expect(one).toMatchObject({ store: true, previous_response_id: null })
    const two = await ask({ input: 'third', previous_response_id: one.id, stream })
    expect(two.previous_response_id).toBe(one.id)
    expect(sentTexts()).toMatch(/first.*second.*third/)
    expect(sentTexts()).not.toContain('be kind')
    await ask({ input: [{ role: 'user', content: 'fifth' }], previous_response_id: two.id, stream })
    expect(sentTexts()).toMatch(/first.*second.*third.*second.*fifth/)
    // Two responses may continue the same response.
    await ask({ input: 'other', previous_response_id: one.id, stream })
    expect(sentTexts()).toMatch(/first.*second.*other/)
    expect(sentTexts()).not.toContain('third')
  })

  it('resolves references to items, with and without a type', async () => {
    const { ask, sentTexts } = setUpState({ m: responseWith('second') })
    const { output } = await ask({ input: 'first' })
    const id = output[0]?.id
    for (const reference of [{ type: 'item_reference', id }, { id }]) {
      await ask({ input: [{ role: 'user', content: 'first' }, reference, { role: 'user', content: 'third' }] })
      expect(sentTexts()).toMatch(/first.*second.*third/)
    }
  })

  it('counts and explains the resolved request', async () => {
    const { ask, post, gateway, seen } = setUpState({ m: asJson({ ...message, input_tokens: 7 }) })
    const { id } = await ask({ input: 'first' })
    const body = { model: 'claude-x', input: 'third', previous_response_id: id }
    const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' }
    expect(await (await post('/v1/responses/input_tokens', body, headers)).json()).toMatchObject({ input_tokens: 7 })
    expect(seen.at(-1)?.body).toMatch(/first.*hello.*third/)
    const url = 'http://gw/v1/responses'
    const { plan } = await gateway.explain(url, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(JSON.stringify(plan[0]?.request?.body)).toMatch(/first.*hello.*third/)
  })

  it('keeps reasoning from one turn to the next', async () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'c2lnbmVk' }
    const { ask, seen } = setUpState({
      m: asJson({ ...message, content: [thinking, { type: 'text', text: 'second' }] }),
    })
    const one = await ask({ input: 'first' })
    await ask({ input: 'third', previous_response_id: one.id })
    expect(JSON.parse(seen.at(-1)?.body ?? '').messages[1].content[0]).toEqual(thinking)
  })

  it('stores nothing with store: false, or if storing is disabled', async () => {
    const { ask, call } = setUpState({ m: responseWith('x') })
    const { id, store } = await ask({ input: 'first', store: false })
    expect(store).toBe(false)
    expect((await call('GET', id)).status).toBe(404)
    await expect(ask({ input: 'x', previous_response_id: id })).rejects.toThrow(/400.*previous_response_id/)
    const none = setUpState({ m: responseWith('x') }, { responses: { store: false } })
    const kept = await none.ask({ input: 'first' })
    expect(kept.store).toBe(false)
    expect((await none.call('GET', kept.id)).status).toBe(404)
  })

  it('returns a response only to its owner', async () => {
    const { ask, call, sentTexts } = setUpState({ m: responseWith('secret') })
    const { id, output } = await ask({ input: 'first' })
    expect((await call('GET', id)).body).toMatchObject({ id, object: 'response', status: 'completed' })
    for (const [method, path] of [
      ['GET', id],
      ['DELETE', id],
      ['GET', `${id}/input_items`],
      ['POST', `${id}/cancel`],
    ] as const)
      expect(await call(method, path, 'bob')).toMatchObject({
        status: 404,
        body: { error: { type: 'invalid_request_error' } },
      })
    await expect(ask({ input: 'x', previous_response_id: id }, 'bob')).rejects.toThrow('400')
    const reference = { type: 'item_reference', id: output[0]?.id }
    await expect(ask({ input: [{ role: 'user', content: 'x' }, reference] }, 'bob')).rejects.toThrow('400')
    expect(sentTexts()).not.toContain('secret')
    expect((await call('GET', id)).status).toBe(200)
  })

  it('does not let a caller claim the item id of another', async () => {
    const { ask, sentTexts } = setUpState({ m: responseWith('hers') })
    const { output } = await ask({ input: 'first' })
    const id = output[0]?.id
    await ask({ input: [{ type: 'message', id, role: 'user', content: 'his' }] }, 'bob')
    await ask({
      input: [
        { role: 'user', content: 'first' },
        { type: 'item_reference', id },
      ],
    })
    expect(sentTexts()).toContain('hers')
    expect(sentTexts()).not.toContain('his')
    await ask({ input: [{ type: 'item_reference', id }] }, 'bob')
    expect(sentTexts()).toContain('his')
  })

  it('limits referenced content to the size of a request', async () => {
    const { ask, seen } = setUpState({ m: responseWith('x') }, { limits: { bodyBytes: 20_000 } })
    const { id } = await ask({ input: [{ type: 'message', id: 'big', role: 'user', content: 'y'.repeat(10_000) }] })
    const calls = seen.length
    await expect(ask({ input: [{ id: 'big' }, { id: 'big' }] })).rejects.toThrow('413')
    const two = await ask({ input: 'more', previous_response_id: id })
    expect(two.previous_response_id).toBe(id)
    await expect(ask({ input: [{ id: 'big' }], previous_response_id: two.id })).rejects.toThrow('413')
    await expect(ask({ model: 'nope', input: [{ id: 'big' }, { id: 'big' }] })).rejects.toThrow('404')
    expect(seen).toHaveLength(calls + 1)
  })

  it('lists input items by page, rejects cancel, and deletes', async () => {
    const { ask, call } = setUpState({ m: responseWith('x') })
    const input = ['a', 'b', 'c'].map((content) => ({ role: 'user', content }))
    const { id } = await ask({ input })
    const first = (await call('GET', `${id}/input_items?limit=2`)).body
    expect(first).toMatchObject({ object: 'list', data: [{ content: 'c' }, { content: 'b' }], has_more: true })
    const rest = (await call('GET', `${id}/input_items?limit=2&after=${first.last_id}`)).body
    expect(rest).toMatchObject({ data: [{ content: 'a' }], has_more: false })
    expect((await call('GET', `${id}/input_items?order=asc`)).body).toMatchObject({ data: input })
    for (const query of ['limit=0', 'limit=x', 'order=up'])
      expect((await call('GET', `${id}/input_items?${query}`)).status).toBe(400)
    expect((await call('POST', `${id}/cancel`)).status).toBe(400)
    expect((await call('DELETE', id)).body).toEqual({ id, object: 'response', deleted: true })
    expect((await call('GET', id)).status).toBe(404)
  })

  it('reports that a part of the conversation is missing', async () => {
    const { ask, call } = setUpState({ m: responseWith('x') })
    const one = await ask({ input: 'first' })
    const two = await ask({ input: 'second', previous_response_id: one.id })
    await call('DELETE', one.id)
    await expect(ask({ input: 'third', previous_response_id: two.id })).rejects.toThrow('previous_response_not_found')
    const reference = { type: 'item_reference', id: one.output[0]?.id }
    await expect(ask({ input: [{ role: 'user', content: 'x' }, reference] })).rejects.toThrow('400')
  })

  describe.each([false, true])('streamed: %s', (stream) => {
    const answers = { m: stream ? asStream(streamed('x')) : responseWith('x') }
    const broken: ResponseStore = {
      get: () => undefined,
      set: () => Promise.reject(new Error('disk full')),
      delete() {},
    }

    it('returns the response if the store fails', async () => {
      const { ask, logged } = setUpState(answers, { responses: { store: broken } })
      expect((await ask({ input: 'first', stream })).output).toHaveLength(1)
      expect(JSON.stringify(logged)).toContain('could not be stored')
    })

    it.each([
      ['its store fails', { responses: { store: broken } }],
      ['it is too large', { responses: { store: memoryResponseStore({ maxChars: 4000 }) } }],
      ['storing is disabled', { responses: { store: false } }],
    ] as const)('returns store: false if %s', async (_, config) => {
      const { ask, call } = setUpState(answers, config)
      const { id, store, output } = await ask({ input: 'first', stream })
      expect({ store, output }).toMatchObject({ store: false, output: [{ content: [{ text: 'x' }] }] })
      expect((await call('GET', id)).status).toBe(404)
    })
  })

  it('changes only store in a stream that cannot be stored', async () => {
    const events = [...streamed('x'), ': behind the end\n\n']
    const textWith = async (store: ResponseStore): Promise<string> => {
      // One chunk, so that there is text before and after the changed member.
      const { post } = setUpState({ m: asStream([events.join('')]) }, { responses: { store } })
      const headers = { authorization: 'Bearer ann' }
      const reply = await post('/v1/responses', { model: 'claude-x', input: 'first', stream: true }, headers)
      return (await reply.text()).replaceAll(/(resp|msg)_\w+|"(created|completed)_at":\d+/g, '')
    }
    const kept = await textWith(memoryResponseStore())
    const lost = await textWith(memoryResponseStore({ maxChars: 4000 }))
    expect(kept).toContain('[DONE]')
    const end = kept.lastIndexOf('event: response.completed')
    expect(lost).toBe(kept.slice(0, end) + kept.slice(end).replace('"store":true', '"store":false'))
  })

  it('returns store: false for a failed response', async () => {
    const { post, gateway } = setUpState({ m: asStream(streamed('x').slice(0, 3)) })
    const headers = { authorization: 'Bearer ann' }
    const reply = await post('/v1/responses', { model: 'claude-x', input: 'first', stream: true }, headers)
    const events = (await reply.text()).split('\n\n')
    const failed = events.findLast((block) => block.includes('response.failed')) ?? ''
    const { response } = JSON.parse(failed.slice(failed.indexOf('data: ') + 6)) as { response: Answer }
    expect(response).toMatchObject({ status: 'failed', store: false })
    expect((await gateway.fetch(`http://gw/v1/responses/${response.id}`, { headers })).status).toBe(404)
  })
})

describe('a store with invalid values', () => {
  const kept = { kind: 'kept', owner: 'ann', response: {}, input: [] }
  const records = ['{"kind":', 'null', '"text"', '[]', '{}', JSON.stringify({ ...kept, owner: undefined })].concat(
    [{ response: 'text' }, { input: null }, { previous: 1 }, { kind: 'forwarded' }, { kind: 'other' }].map((change) =>
      JSON.stringify({ ...kept, ...change }),
    ),
  )
  it.each(records)('fails only the call that needs the value, with a clear error: %s', async (text) => {
    const store: ResponseStore = {
      get: (key) => (key.startsWith('response:') ? text : undefined),
      set() {},
      delete() {},
    }
    const { call, post, logged } = setUpState({ m: responseWith('x') }, { responses: { store } })
    const expectedError = { error: { message: expect.stringContaining('damaged'), type: 'server_error' } }
    expect(await call('GET', 'resp_x')).toMatchObject({ status: 500, body: expectedError })
    expect(await call('GET', 'resp_x/input_items')).toMatchObject({ status: 500, body: expectedError })
    const body = { model: 'claude-x', input: 'hi', previous_response_id: 'resp_x' }
    const reply = await post('/v1/responses', body, { authorization: 'Bearer ann' })
    expect({ status: reply.status, body: await reply.json() }).toMatchObject({ status: 500, body: expectedError })
    expect(JSON.stringify(logged)).not.toContain('TypeError')
  })

  it.each(['{"type":', 'null', '[]'])('fails for items too: %s', async (text) => {
    const store: ResponseStore = { get: (key) => (key.startsWith('item:') ? text : undefined), set() {}, delete() {} }
    const { ask } = setUpState({ m: responseWith('x') }, { responses: { store } })
    await expect(ask({ input: [{ type: 'item_reference', id: 'msg_x' }] })).rejects.toThrow(/500.*damaged/)
  })
})

describe('a store that never responds', () => {
  it.each(['get', 'set'] as const)('does not block a call forever: %s', async (hanging) => {
    vi.useFakeTimers()
    const never = (): Promise<never> => new Promise(() => {})
    const store: ResponseStore = { get: () => undefined, set() {}, delete() {}, [hanging]: never }
    const { ask, logged } = setUpState({ m: responseWith('x') }, { responses: { store } })
    const previous = hanging === 'get' ? { previous_response_id: 'resp_x' } : {}
    const answer = ask({ input: 'first', ...previous }).catch((error: Error) => error)
    await vi.advanceTimersByTimeAsync(5001)
    if (hanging === 'get') expect(String(await answer)).toContain('500')
    else expect(await answer).toMatchObject({ object: 'response' })
    expect(JSON.stringify(logged)).toMatch(/stored|failed/)
    vi.useRealTimers()
  })
})

describe('an upstream that stores responses', () => {
  const output = [{ id: 'msg_up', type: 'message', role: 'assistant', content: [] }]
  const response = { id: 'resp_up', object: 'response', status: 'completed', deleted: true, output }

  it('receives the unchanged reference, and requests for stored responses', async () => {
    const { ask, call, seen } = setUpState({ a: asJson(response) })
    const body = { model: 'real', input: 'x' }
    await ask(body)
    await ask({ ...body, previous_response_id: 'resp_up' })
    expect(JSON.parse(seen.at(-1)?.body ?? '')).toEqual({ ...body, previous_response_id: 'resp_up' })
    expect(await call('GET', 'resp_up?include[]=x&key=ann')).toEqual({ status: 200, body: response })
    expect(seen.at(-1)).toMatchObject({ url: 'http://a/v1/responses/resp_up?include%5B%5D=x' })
    await call('POST', 'resp_up/cancel')
    expect(seen.at(-1)?.url).toBe('http://a/v1/responses/resp_up/cancel')
    const calls = seen.length
    expect((await call('GET', 'resp_up', 'bob')).status).toBe(404)
    for (const stolen of [{ previous_response_id: 'resp_up' }, { input: [{ type: 'item_reference', id: 'msg_up' }] }])
      await expect(ask({ ...body, ...stolen }, 'bob')).rejects.toThrow(/400.*not found/)
    expect(seen).toHaveLength(calls)
    await expect(ask({ input: 'x', previous_response_id: 'resp_up' })).rejects.toThrow('previous_response_not_found')
    expect((await call('DELETE', 'resp_up')).status).toBe(200)
    expect((await call('GET', 'resp_up')).status).toBe(404)
  })

  it.each([
    [{ error: { message: 'key sk-canary-aaaaaaaa at http://a/v1' } }, 502],
    ['<html>http://a/secret</html>', 502],
  ])('does not expose internal details: %j', async (body, status) => {
    let current: unknown = response
    const { ask, call } = setUpState({
      a: () => new Response(typeof current === 'string' ? current : JSON.stringify(current)),
    })
    await ask({ model: 'real', input: 'x' })
    current = body
    const shown = await call('GET', 'resp_up')
    expect(shown.status).toBe(status)
    expect(JSON.stringify(shown.body)).not.toMatch(/canary|http:/)
    await call('DELETE', 'resp_up')
    current = response
    expect((await call('GET', 'resp_up')).status).toBe(200)
  })

  it('owns a response from its first event, unless it reports store: false', async () => {
    const { ask, call } = setUpState({ a: asJson({ ...response, status: 'queued' }) })
    await ask({ model: 'real', input: 'x', background: true })
    expect((await call('POST', 'resp_up/cancel')).status).toBe(200)
    await expect(ask({ model: 'real', input: 'x', previous_response_id: 'resp_up' }, 'bob')).rejects.toThrow('400')
    const forgetful = setUpState({ a: asJson({ ...response, store: false }) })
    await forgetful.ask({ model: 'real', input: 'x' })
    expect((await forgetful.call('GET', 'resp_up')).status).toBe(404)
  })

  const long = 'é'.repeat(200)
  it.each([
    ['cancelled', event('response.cancelled', { response })],
    [
      'with another name of the format',
      `event: response.done\ndata: ${JSON.stringify({ long, response, type: 'response.completed' })}\n\n`,
    ],
    ['with a name but no type', `event: response.incomplete\ndata: ${JSON.stringify({ response })}\n\n`],
    ['with a name', event('response.completed', { response })],
    ['with a name and long data', event('response.completed', { response: { instructions: long, ...response } })],
    ['with an id', `id: 1\n${event('response.completed', { response: { instructions: long, ...response } })}`],
    ['without a name', `data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`],
    ['with the type as the last member', `data: ${JSON.stringify({ long, response, type: 'response.completed' })}\n\n`],
    [
      'with an unknown name',
      `event: last\ndata: ${JSON.stringify({ long, response, type: 'response.completed' })}\n\n`,
    ],
    [
      'after other events',
      `${event('response.output_text.delta', { delta: long })}${event('response.failed', { response })}`,
    ],
  ])('owns a streamed response in every notation of its events: %s', async (_, last) => {
    let streams = asStream([event('response.in_progress', { response: {} }), last])
    const { post, call } = setUpState({ a: (...call) => streams(...call) })
    const headers = { authorization: 'Bearer ann' }
    const reply = await post('/v1/responses', { model: 'real', input: 'x', stream: true }, headers)
    expect(await reply.text()).toContain(last)
    streams = asJson(response)
    expect((await call('GET', 'resp_up')).status).toBe(200)
    expect((await call('GET', 'resp_up', 'bob')).status).toBe(404)
  })

  it('does not receive a second id that was not checked', async () => {
    const { post, seen } = setUpState({ a: asJson(response) })
    const body = '{"model":"real","input":"x","previous_response_id":"a","previous_response_id":"b"}'
    expect((await post('/v1/responses', body, { authorization: 'Bearer ann' })).status).toBe(400)
    expect(seen).toHaveLength(0)
  })

  it('receives a conversation that the gateway stores', async () => {
    const { ask, seen } = setUpState({ m: responseWith('second'), a: asJson(response) })
    const one = await ask({ input: 'first' })
    await ask({ model: 'real', input: 'third', previous_response_id: one.id })
    const sent = JSON.parse(seen.at(-1)?.body ?? '')
    expect(sent.previous_response_id ?? null).toBeNull()
    expect(JSON.stringify(sent.input)).toMatch(/first.*second.*third/)
  })
})
