import { afterAll, describe, expect, test } from 'vitest'
import type { WireFormat } from './fixtures.ts'
import { pathOf } from './gateways.ts'
import {
  bearer,
  bodyOf,
  errorIn,
  exchangesMade,
  formats,
  good,
  json,
  narrowToken,
  token,
  useHttpSetting,
  version,
} from './http-setting.ts'
import { listOf, objectOf, parseJson } from './json.ts'
import { hostsNotFound, servers } from './servers.ts'

for (const server of servers)
  describe(server.name, () => {
    const setting = useHttpSetting(server)

    describe('authentication', () => {
      const everyRoute = (): { method: string; path: string; format: WireFormat }[] =>
        setting.current.gateway.routes.flatMap(({ method, path, format }) =>
          format === 'chat' || format === 'messages'
            ? [{ method, path: path.replace('{model}', 'chat-model'), format }]
            : [],
        )

      test('a missing, unknown or empty token is 401 in the dialect of every route, and no upstream is called', async () => {
        for (const { method, path, format } of everyRoute())
          for (const headers of [
            {},
            { authorization: 'Bearer wrong' },
            { authorization: 'Bearer ' },
            { 'x-api-key': 'no' },
          ]) {
            const answer = await setting.current.call({
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
        expect(setting.current.fake.requests).toHaveLength(0)
      })

      test('every carrier works on every route', async () => {
        for (const { method, path, format } of everyRoute())
          for (const headers of [
            { authorization: `Bearer ${token}` },
            { authorization: `bearer ${token}` },
            { 'x-api-key': token },
            { 'x-goog-api-key': token },
          ]) {
            const answer = await setting.current.call({
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
          const answer = await setting.current.call({
            method,
            path: `${path}?key=${token}`,
            headers: { ...json, ...version },
            ...(method === 'POST' ? { body: bodyOf(format) } : {}),
          })
          expect(answer.status, path).toBe(401)
        }
        expect(setting.current.fake.requests).toHaveLength(0)
      })

      test('a caller sees and reaches only its own models', async () => {
        const headers = { ...good, authorization: `Bearer ${narrowToken}` }
        expect((await setting.current.post('chat', bodyOf('chat'), headers)).status).toBe(200)
        const before = setting.current.fake.requests.length
        for (const format of formats)
          expect(
            (await setting.current.post(format, bodyOf(format, { model: 'messages-model' }), headers)).status,
          ).toBe(404)
        expect(setting.current.fake.requests).toHaveLength(before)
        const list = await setting.current.call({
          method: 'GET',
          path: '/v1/models',
          headers: { authorization: headers.authorization },
        })
        expect(listOf(objectOf(parseJson(list.text)).data).map((model) => objectOf(model).id)).toEqual(['chat-model'])
        const hidden = await setting.current.call({
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
            expect(
              (await setting.current.call({ path: variant, headers: good, body: bodyOf(format) })).status,
              variant,
            ).toBe(200)
        }
        expect((await setting.current.call({ method: 'GET', path: '/v1/v1/models', headers: good })).status).toBe(200)
      })

      test('a wrong method is 405 with Allow, in the dialect', async () => {
        for (const format of formats)
          for (const method of ['GET', 'PUT', 'DELETE']) {
            const answer = await setting.current.call({ method, path: pathOf(format), headers: good })
            expect(answer.status).toBe(405)
            expect(answer.headers.allow).toBe('POST')
            errorIn(format, answer)
          }
        expect(
          (await setting.current.call({ method: 'DELETE', path: '/v1/models', headers: bearer })).headers.allow,
        ).toContain('GET')
      })

      test('an unknown path is the host’s, or a JSON 404 where there is none', async () => {
        for (const path of ['/', '/v1/nothing', '/chat/completions/more', '/v2/messages']) {
          const answer = await setting.current.call({ method: 'GET', path, headers: bearer })
          expect(answer.status, path).toBe(404)
          if (server.hosted) expect(answer.text).toBe(hostsNotFound)
          else errorIn('chat', answer)
        }
      })

      test('the model list speaks the dialect of who asks', async () => {
        const open = objectOf(
          parseJson((await setting.current.call({ method: 'GET', path: '/v1/models', headers: bearer })).text),
        )
        expect(open.object).toBe('list')
        const other = objectOf(
          parseJson(
            (
              await setting.current.call({
                method: 'GET',
                path: '/v1/models?limit=1000',
                headers: { ...bearer, ...version },
              })
            ).text,
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
          const answer = await setting.current.post('messages', bodyOf('messages'), { ...json, ...bearer, ...headers })
          expect(answer.status, JSON.stringify(headers)).toBe(status)
          if (status === 400)
            expect(errorIn('messages', answer).message).toContain(Object.keys(headers)[0] ?? 'anthropic-version')
        }
      })

      test('a body that is said to be no JSON is 415; nothing said is taken for JSON', async () => {
        for (const format of formats) {
          for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
            const answer = await setting.current.post(format, bodyOf(format), { ...good, 'content-type': type })
            expect(answer.status, type).toBe(415)
            errorIn(format, answer)
          }
          const charset = await setting.current.post(format, bodyOf(format), {
            ...good,
            'content-type': 'application/json; charset=utf-8',
          })
          expect(charset.status).toBe(200)
        }
      })

      test('an id under both names on every answer, and a new one each time', async () => {
        const seen = new Set<string>()
        for (const answer of [
          await setting.current.post('chat', bodyOf('chat')),
          await setting.current.post('messages', bodyOf('messages', { stream: true })),
          await setting.current.post('chat', '{'),
          await setting.current.post('messages', bodyOf('messages'), json),
          await setting.current.call({ method: 'GET', path: '/v1/models', headers: bearer }),
          await setting.current.call({ method: 'GET', path: '/v1/messages', headers: bearer }),
        ]) {
          expect(answer.headers['x-request-id']).toMatch(/^req_\w{10,}$/)
          expect(answer.headers['request-id']).toBe(answer.headers['x-request-id'])
          seen.add(answer.headers['x-request-id'] ?? '')
        }
        expect(seen.size).toBe(6)
      })

      test('streams are not to be stored, held back or transformed', async () => {
        for (const format of formats) {
          const { headers } = await setting.current.post(format, bodyOf(format, { stream: true }))
          expect(headers['content-type']).toMatch(/^text\/event-stream/)
          expect(headers['cache-control']).toBe('no-cache, no-transform')
          expect(headers['content-length']).toBeUndefined()
        }
      })

      test('nothing of the upstream’s headers goes on', async () => {
        setting.current.fake.on(
          {},
          { headers: { 'openai-organization': 'org-of-the-gateway', 'set-cookie': 'a=b', 'x-secret': '1' } },
        )
        for (const format of formats)
          for (const stream of [false, true]) {
            const { headers } = await setting.current.post(format, bodyOf(format, { stream }))
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
            const answer = await setting.current.call(
              { path: pathOf(format), headers: good, body },
              setting.current.smallPlace,
            )
            expect(answer.status).toBe(413)
            errorIn(format, answer)
          }
        expect(
          (
            await setting.current.call(
              { path: pathOf('chat'), headers: good, body: bodyOf('chat') },
              setting.current.smallPlace,
            )
          ).status,
        ).toBe(200)
        expect(setting.current.fake.requests).toHaveLength(1)
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
          const answer = await setting.current.post(format, bad[name] ?? '')
          expect(answer.status).toBe(400)
          expect(errorIn(format, answer).type).toBe('invalid_request_error')
        }
        expect(setting.current.fake.requests).toHaveLength(0)
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
          const answer = await setting.current.post(format, bodyOf(format, more))
          expect(answer.status, JSON.stringify(more)).toBe(400)
          const error = errorIn(format, answer)
          expect(`${String(error.param)} ${error.message}`).toContain(param)
        }
        expect(setting.current.fake.requests).toHaveLength(0)
      })

      test('an unknown model is 404 in either dialect', async () => {
        const chat = await setting.current.post('chat', bodyOf('chat', { model: 'gone' }))
        expect([chat.status, errorIn('chat', chat).code]).toEqual([404, 'model_not_found'])
        const messages = await setting.current.post('messages', bodyOf('messages', { model: 'gone' }))
        expect([messages.status, errorIn('messages', messages).type]).toEqual([404, 'not_found_error'])
      })
    })

    setting.searchForSecrets()
  })

afterAll(() => console.log(`http: ${exchangesMade()} exchanges over ${servers.length} servers`))
