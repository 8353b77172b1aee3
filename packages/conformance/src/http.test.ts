import { anthropic, createGateway, type Gateway, openai } from '@modelgate/core'
import { createFakeProvider, type FakeProvider, type ListeningProvider, listen } from '@modelgate/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { WireFormat } from './fixtures.ts'
import { pathOf, upstreamKey } from './gateways.ts'
import { listOf, objectOf, parseJson, textOf } from './json.ts'
import { type RawAnswer, type RawCall, rawCall } from './raw-http.ts'
import { hostsNotFound, type Running, servers } from './servers.ts'

const token = 'client-token-of-alice-77f3'
const narrowToken = 'client-token-of-bob-19c2'
const formats: readonly WireFormat[] = ['chat', 'messages']
let checks = 0

/** What every generation call needs, in either dialect. */
const bodyOf = (format: WireFormat, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    model: `${format}-model`,
    messages: [{ role: 'user', content: 'hello' }],
    ...(format === 'messages' ? { max_tokens: 100 } : {}),
    ...more,
  })
const json = { 'content-type': 'application/json' }
const version = { 'anthropic-version': '2023-06-01' }
const bearer = { authorization: `Bearer ${token}` }
const good = { ...json, ...version, ...bearer }

/** The message of an error in the dialect it must be in; throws for any other shape. */
function errorIn(
  format: WireFormat,
  answer: RawAnswer,
): { message: string; type: string; param: unknown; code: unknown } {
  expect(answer.headers['content-type']).toMatch(/^application\/json/)
  const body = objectOf(parseJson(answer.text))
  const error = objectOf(body.error)
  if (format === 'messages') {
    expect(Object.keys(body).sort()).toEqual(['error', 'request_id', 'type'])
    expect(body.type).toBe('error')
  } else {
    expect(Object.keys(body)).toEqual(['error'])
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
  }
  expect(textOf(error.message)).not.toBe('')
  return { message: textOf(error.message), type: textOf(error.type), param: error.param, code: error.code }
}

for (const server of servers)
  describe(server.name, () => {
    let fake: FakeProvider
    let provider: ListeningProvider
    let gateway: Gateway
    let small: Gateway
    let place: Running
    let smallPlace: Running
    const answers: string[] = []
    const asked: string[] = []

    beforeAll(async () => {
      fake = createFakeProvider({ apiKey: upstreamKey })
      provider = await listen(fake)
      const gatewayWith = (bodyBytes: number): Gateway =>
        createGateway({
          auth: (credential) =>
            credential === token
              ? { id: 'alice' }
              : credential === narrowToken
                ? { id: 'bob', models: ['chat-model'] }
                : null,
          upstreams: {
            chat: openai({ apiKey: upstreamKey, baseURL: provider.url }),
            messages: anthropic({ apiKey: upstreamKey, baseURL: provider.origin }),
          },
          models: {
            'chat-model': 'chat',
            'messages-model': 'messages',
            'chat-alias': { upstream: 'chat', model: 'upstream-chat-name' },
            'messages-alias': { upstream: 'messages', model: 'upstream-messages-name' },
          },
          limits: { bodyBytes },
          logger: false,
        })
      gateway = gatewayWith(4 * 1024 * 1024)
      small = gatewayWith(4096)
      place = await server.start(gateway)
      smallPlace = await server.start(small)
    })
    afterEach(() => {
      for (const { headers, bodyText, query } of fake.requests) asked.push(JSON.stringify(headers), bodyText, query)
      fake.reset()
    })
    afterAll(async () => {
      await place.close()
      await smallPlace.close()
      await provider.close()
    })

    const call = async (raw: RawCall, to: Running = place): Promise<RawAnswer> => {
      const answer = await rawCall(to, raw)
      answers.push(JSON.stringify(answer.headers), answer.text)
      checks++
      return answer
    }
    const post = (
      format: WireFormat,
      body: RawCall['body'],
      headers: Record<string, string> = good,
    ): Promise<RawAnswer> => call({ path: pathOf(format), headers, ...(body === undefined ? {} : { body }) })

    describe('authentication', () => {
      const everyRoute = (): { method: string; path: string; format: WireFormat }[] =>
        gateway.routes.map(({ method, path, format }) => ({
          method,
          path: path.replace('{model}', 'chat-model'),
          format: format as WireFormat,
        }))

      test('a missing, unknown or empty token is 401 in the dialect of every route, and no upstream is called', async () => {
        for (const { method, path, format } of everyRoute())
          for (const headers of [
            {},
            { authorization: 'Bearer wrong' },
            { authorization: 'Bearer ' },
            { 'x-api-key': 'no' },
          ]) {
            const answer = await call({
              method,
              path,
              headers: { ...json, ...(format === 'messages' ? version : {}), ...headers },
              ...(method === 'POST' ? { body: bodyOf(format) } : {}),
            })
            expect(answer.status, `${method} ${path}`).toBe(401)
            expect(answer.headers['x-should-retry']).toBe('false')
            expect(errorIn(format, answer).type).toBe(
              format === 'chat' ? 'invalid_request_error' : 'authentication_error',
            )
          }
        expect(fake.requests).toHaveLength(0)
      })

      test('every carrier works on every route', async () => {
        for (const { method, path, format } of everyRoute())
          for (const headers of [
            { authorization: `Bearer ${token}` },
            { authorization: `bearer ${token}` },
            { 'x-api-key': token },
            { 'x-goog-api-key': token },
          ]) {
            const answer = await call({
              method,
              path,
              headers: { ...json, ...(format === 'messages' ? version : {}), ...headers },
              ...(method === 'POST' ? { body: bodyOf(format) } : {}),
            })
            expect(answer.status, `${method} ${path} ${Object.keys(headers)}`).toBe(200)
          }
      })

      test('a token in the query is no credential here', async () => {
        for (const { method, path, format } of everyRoute()) {
          const answer = await call({
            method,
            path: `${path}?key=${token}`,
            headers: { ...json, ...version },
            ...(method === 'POST' ? { body: bodyOf(format) } : {}),
          })
          expect(answer.status, path).toBe(401)
        }
        expect(fake.requests).toHaveLength(0)
      })

      test('a caller sees and reaches only its own models', async () => {
        const headers = { ...good, authorization: `Bearer ${narrowToken}` }
        expect((await post('chat', bodyOf('chat'), headers)).status).toBe(200)
        const before = fake.requests.length
        for (const format of formats)
          expect((await post(format, bodyOf(format, { model: 'messages-model' }), headers)).status).toBe(404)
        expect(fake.requests).toHaveLength(before)
        const list = await call({
          method: 'GET',
          path: '/v1/models',
          headers: { authorization: headers.authorization },
        })
        expect(listOf(objectOf(parseJson(list.text)).data).map((model) => objectOf(model).id)).toEqual(['chat-model'])
        const hidden = await call({
          method: 'GET',
          path: '/v1/models/messages-model',
          headers: { authorization: headers.authorization },
        })
        expect(hidden.status).toBe(404)
      })
    })

    describe('paths and methods', () => {
      test('one /v1 too many or too few, or a slash at the end, finds its way', async () => {
        for (const format of formats) {
          const path = pathOf(format)
          for (const variant of [`/v1${path}`, path.slice(3), `${path}/`, `${path}?beta=true`])
            expect((await call({ path: variant, headers: good, body: bodyOf(format) })).status, variant).toBe(200)
        }
        expect((await call({ method: 'GET', path: '/v1/v1/models', headers: good })).status).toBe(200)
      })

      test('a wrong method is 405 with Allow, in the dialect', async () => {
        for (const format of formats)
          for (const method of ['GET', 'PUT', 'DELETE']) {
            const answer = await call({ method, path: pathOf(format), headers: good })
            expect(answer.status).toBe(405)
            expect(answer.headers.allow).toBe('POST')
            errorIn(format, answer)
          }
        expect((await call({ method: 'DELETE', path: '/v1/models', headers: bearer })).headers.allow).toContain('GET')
      })

      test('an unknown path is the host’s, or a JSON 404 where there is none', async () => {
        for (const path of ['/', '/v1/nothing', '/chat/completions/more', '/v2/messages']) {
          const answer = await call({ method: 'GET', path, headers: bearer })
          expect(answer.status, path).toBe(404)
          if (server.hosted) expect(answer.text).toBe(hostsNotFound)
          else errorIn('chat', answer)
        }
      })

      test('the model list speaks the dialect of who asks', async () => {
        const open = objectOf(parseJson((await call({ method: 'GET', path: '/v1/models', headers: bearer })).text))
        expect(open.object).toBe('list')
        const other = objectOf(
          parseJson(
            (await call({ method: 'GET', path: '/v1/models?limit=1000', headers: { ...bearer, ...version } })).text,
          ),
        )
        expect(other).toMatchObject({ has_more: false, first_id: 'chat-model', last_id: 'messages-alias' })
      })
    })

    describe('headers', () => {
      test('messages insist on a version, under either name, and say which', async () => {
        for (const [headers, status] of [
          [{}, 400],
          [{ 'anthropic-version': 'tomorrow' }, 400],
          [{ 'anthropic-version': '2023-13-45' }, 400],
          [{ 'vendor-version': '2023-6-1' }, 400],
          [{ 'vendor-version': '2023-06-01' }, 200],
          [{ 'anthropic-version': '2026-10-21' }, 200],
        ] as const) {
          const answer = await post('messages', bodyOf('messages'), { ...json, ...bearer, ...headers })
          expect(answer.status, JSON.stringify(headers)).toBe(status)
          if (status === 400)
            expect(errorIn('messages', answer).message).toContain(Object.keys(headers)[0] ?? 'anthropic-version')
        }
      })

      test('a body that is said to be no JSON is 415; nothing said is taken for JSON', async () => {
        for (const format of formats) {
          for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
            const answer = await post(format, bodyOf(format), { ...good, 'content-type': type })
            expect(answer.status, type).toBe(415)
            errorIn(format, answer)
          }
          const charset = await post(format, bodyOf(format), {
            ...good,
            'content-type': 'application/json; charset=utf-8',
          })
          expect(charset.status).toBe(200)
        }
      })

      test('an id under both names on every answer, and a new one each time', async () => {
        const seen = new Set<string>()
        for (const answer of [
          await post('chat', bodyOf('chat')),
          await post('messages', bodyOf('messages', { stream: true })),
          await post('chat', '{'),
          await post('messages', bodyOf('messages'), json),
          await call({ method: 'GET', path: '/v1/models', headers: bearer }),
          await call({ method: 'GET', path: '/v1/messages', headers: bearer }),
        ]) {
          expect(answer.headers['x-request-id']).toMatch(/^req_\w{10,}$/)
          expect(answer.headers['request-id']).toBe(answer.headers['x-request-id'])
          seen.add(answer.headers['x-request-id'] ?? '')
        }
        expect(seen.size).toBe(6)
      })

      test('streams are not to be stored, held back or transformed', async () => {
        for (const format of formats) {
          const { headers } = await post(format, bodyOf(format, { stream: true }))
          expect(headers['content-type']).toMatch(/^text\/event-stream/)
          expect(headers['cache-control']).toBe('no-cache, no-transform')
          expect(headers['content-length']).toBeUndefined()
        }
      })

      test('nothing of the upstream’s headers goes on', async () => {
        fake.on({}, { headers: { 'openai-organization': 'org-of-the-gateway', 'set-cookie': 'a=b', 'x-secret': '1' } })
        for (const format of formats)
          for (const stream of [false, true]) {
            const { headers } = await post(format, bodyOf(format, { stream }))
            for (const name of ['openai-organization', 'set-cookie', 'x-secret', 'anthropic-organization-id'])
              expect(headers[name], name).toBeUndefined()
          }
      })
    })

    describe('bodies', () => {
      test('more than the limit is 413, announced or not', async () => {
        for (const format of formats)
          for (const body of [
            Buffer.from(bodyOf(format, { user: 'x'.repeat(5000) })),
            [Buffer.alloc(2000, 32), Buffer.alloc(2000, 32), Buffer.alloc(2000, 32)],
          ]) {
            const answer = await call({ path: pathOf(format), headers: good, body }, smallPlace)
            expect(answer.status).toBe(413)
            errorIn(format, answer)
          }
        expect((await call({ path: pathOf('chat'), headers: good, body: bodyOf('chat') }, smallPlace)).status).toBe(200)
        expect(fake.requests).toHaveLength(1)
      })

      const nested = (depth: number): string => `{"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`
      const bad: Readonly<Record<string, string | Uint8Array>> = {
        'invalid UTF-8': Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
        '200 levels': nested(200),
        '100,000 levels': nested(100_000),
        '100,000 levels and no end': '['.repeat(100_000),
        'half a body': '{"model": "chat-model", "messages": [',
        'no JSON': 'model=chat-model',
        'a list': '[]',
        null: 'null',
        'a text': '"hello"',
        nothing: '',
      }
      test.each(Object.keys(bad))('%s is 400 in the dialect', async (name) => {
        for (const format of formats) {
          const answer = await post(format, bad[name] ?? '')
          expect(answer.status).toBe(400)
          expect(errorIn(format, answer).type).toBe('invalid_request_error')
        }
        expect(fake.requests).toHaveLength(0)
      })

      test('a wrong field is 400 that names it', async () => {
        for (const [format, more, param] of [
          ['chat', { temperature: 3 }, 'temperature'],
          ['chat', { top_p: -1 }, 'top_p'],
          ['chat', { n: 0 }, 'n'],
          ['chat', { presence_penalty: 2.1 }, 'presence_penalty'],
          ['chat', { frequency_penalty: -2.1 }, 'frequency_penalty'],
          ['chat', { messages: undefined }, 'messages'],
          ['chat', { model: undefined }, 'model'],
          ['chat', { messages: [{ role: 'user' }] }, 'messages'],
          ['chat', { messages: [{ role: 'user', content: 5 }] }, 'messages'],
          ['messages', { max_tokens: undefined }, 'max_tokens'],
          ['messages', { max_tokens: 0 }, 'max_tokens'],
          ['messages', { temperature: 1.01 }, 'temperature'],
          ['messages', { messages: undefined }, 'messages'],
          ['messages', { model: undefined }, 'model'],
          [
            'messages',
            {
              messages: [
                { role: 'user', content: 'a' },
                { role: 'user', content: 5 },
              ],
            },
            'messages.1.content',
          ],
          ['messages', { thread: { type: 'create' } }, 'thread'],
        ] as const) {
          const answer = await post(format, bodyOf(format, more))
          expect(answer.status, JSON.stringify(more)).toBe(400)
          const error = errorIn(format, answer)
          expect(`${String(error.param)} ${error.message}`).toContain(param)
        }
        expect(fake.requests).toHaveLength(0)
      })

      test('an unknown model is 404 in either dialect', async () => {
        const chat = await post('chat', bodyOf('chat', { model: 'gone' }))
        expect([chat.status, errorIn('chat', chat).code]).toEqual([404, 'model_not_found'])
        const messages = await post('messages', bodyOf('messages', { model: 'gone' }))
        expect([messages.status, errorIn('messages', messages).type]).toEqual([404, 'not_found_error'])
      })
    })

    describe('the wire lane', () => {
      const odd = (format: WireFormat, model: string): string =>
        `{ "seed":12345678901234567890 ,\n\t"model"  :"${model}", "new_field":{"a":1.0,"a":2e2,"__proto__":{"x":1}},` +
        `"messages":[{"role":"user","content":"\\u0041 \\/ 🙂 ${'é'}"}]${format === 'messages' ? ',"max_tokens":007e0' : ''} }`.replace(
          '007e0',
          '7e0',
        )
      const whole = (format: WireFormat): string =>
        format === 'chat'
          ? '{ "id":"x","big":98765432109876543210, "choices" :[{"index":0,"message":{"role":"assistant","content":"\\u0041"},"finish_reason":"stop"}],"a":1,"a":2}\n'
          : '{"type":"message", "id":"m","big":98765432109876543210,"role":"assistant","content":[{"type":"text","text":"\\u0041"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1.0}}'
      const stream = (format: WireFormat): string =>
        format === 'chat'
          ? ': hello\r\n\r\ndata:{"id":"x","choices":[{"index":0,"delta":{"content":"\\u0041"},"finish_reason":"stop"}],"big":98765432109876543210}\r\n\r\ndata: [DONE]\r\n\r\n'
          : 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}   }\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"new_block"}}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'

      test.each(formats)('%s: bytes go both ways as they are, but for the model’s name', async (format) => {
        fake.on({}, { raw: { body: whole(format) } })
        for (const [model, upstream] of [
          [`${format}-model`, `${format}-model`],
          [`${format}-alias`, `upstream-${format}-name`],
        ] as const) {
          const answer = await post(format, odd(format, model))
          expect(answer.text).toBe(whole(format))
          expect(fake.requests.at(-1)?.bodyText).toBe(odd(format, upstream))
        }
      })

      test.each(formats)('%s: streams pass as they are', async (format) => {
        fake.on({}, { raw: { body: stream(format) } })
        const options = format === 'chat' ? { stream_options: { include_usage: true } } : {}
        const answer = await post(format, bodyOf(format, { stream: true, ...options }))
        expect(answer.text).toBe(stream(format))
      })
    })

    describe('upstreams that misbehave', () => {
      const dialects = formats.flatMap((client) => formats.map((upstream) => [client, upstream] as const))
      test.each(dialects)('%s from %s: what is no answer is 502 in the dialect', async (client, upstream) => {
        for (const reply of [
          { fault: { type: 'html' } },
          { fault: { type: 'empty' } },
          { raw: { body: 'null' } },
          { raw: { body: '{"half": ' } },
          { raw: { body: '[1,2]' } },
          { raw: { status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' }, body: '' } },
          { fault: { type: 'reset' } },
          { status: 401 },
          { status: 403 },
        ] as const)
          for (const stream of [false, true]) {
            fake.reset()
            fake.on({}, reply)
            const answer = await post(client, bodyOf(client, { model: `${upstream}-model`, stream }))
            expect([answer.status, answer.text.slice(0, 300)], JSON.stringify({ reply, stream })).toEqual([
              502,
              answer.text.slice(0, 300),
            ])
            errorIn(client, answer)
            // A used connection that breaks before the answer may have been closed long ago: one more try is allowed then.
            if (!('fault' in reply && reply.fault.type === 'reset'))
              expect(fake.requests, 'a redirect is not followed, a failure not repeated').toHaveLength(1)
          }
      })

      test('an upstream that repeats the key in its errors does not betray it', async () => {
        for (const [client, upstream] of dialects)
          for (const reply of [
            { status: 400, error: { message: `Incorrect API key provided: ${upstreamKey}` } },
            { status: 401, error: { message: `Incorrect API key provided: ${upstreamKey}` } },
            { status: 500, error: { message: `At ${provider.origin}: ${upstreamKey}`, code: upstreamKey } },
          ]) {
            fake.on({}, reply)
            const answer = await post(client, bodyOf(client, { model: `${upstream}-model` }))
            expect(answer.status).toBeGreaterThanOrEqual(400)
            expect(answer.text).not.toContain(new URL(provider.origin).host)
          }
        for (const [client, upstream] of dialects) {
          fake.on(
            {},
            { fault: { type: 'error-event', after: 4, message: `failed for ${upstreamKey}` }, text: 'one two three' },
          )
          const answer = await post(client, bodyOf(client, { model: `${upstream}-model`, stream: true }))
          expect(answer.text).toContain('error')
        }
      })
    })

    test('no upstream key in any answer, no client token in any upstream request', () => {
      expect(answers.length).toBeGreaterThan(300)
      expect(answers.filter((text) => text.includes(upstreamKey))).toEqual([])
      expect(asked.length).toBeGreaterThan(50)
      expect(asked.filter((text) => text.includes(token) || text.includes(narrowToken))).toEqual([])
    })
  })

afterAll(() => console.log(`http: ${checks} exchanges over ${servers.length} servers`))
