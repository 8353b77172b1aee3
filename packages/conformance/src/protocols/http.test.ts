import { afterAll, describe, expect, test } from 'vitest'
import { type ClientFormat, clientFormatRows, clientFormats, isClientFormat, pathOf } from '../base/client-formats.ts'
import { listOf, objectOf, parseJson } from '../base/json.ts'
import type { RawAnswer } from '../base/raw-http.ts'
import { formats } from '../base/recorded-traffic.ts'
import { hostsNotFound, servers } from '../base/servers.ts'
import {
  bearer,
  bodyOf,
  callsOf,
  errorIn,
  exchangesMade,
  expectUnknownToken,
  good,
  json,
  narrowToken,
  type RouteCall,
  targetOf,
  targetsOf,
  token,
  useHttpFixture,
  version,
} from './http-fixture.ts'

for (const server of servers)
  describe(server.name, () => {
    const setting = useHttpFixture(server)
    /** Hosts own the paths of Ollama. */
    const clients = server.hosted ? formats : clientFormats

    describe('authentication', () => {
      /** Headers for a model list in a route's dialect. OpenAI's is the default without a header. */
      const headersOf = ({ route }: RouteCall): Record<string, string> => ({
        ...json,
        ...(route.format === 'messages' ? version : {}),
      })
      const every = (): readonly RouteCall[] =>
        callsOf(setting.current.gateway).filter(({ route }) => !(server.hosted && route.hostMayOwn === true))
      const send = (call: RouteCall, headers: Record<string, string>, query = ''): Promise<RawAnswer> =>
        setting.current.call({
          method: call.method,
          path: `${call.path}${query}`,
          headers,
          ...(call.body === undefined ? {} : { body: call.body }),
        })

      test('rejects a missing, unknown or empty token in the dialect of every route, without an upstream call', async () => {
        for (const call of every())
          for (const headers of [
            {},
            { authorization: 'Bearer wrong' },
            { authorization: 'Bearer ' },
            { 'x-api-key': 'no' },
            { 'x-api-key': token, 'api-key': 'no' },
          ])
            expectUnknownToken(
              call.route.format,
              await send(call, { ...headersOf(call), ...headers }),
              call.route.operation,
            )
        expect(setting.current.fake.requests).toHaveLength(0)
      })

      test('accepts every way to send a token on every route', async () => {
        const chats = new Set(['generate', 'count-tokens', 'list-models', 'get-model'])
        for (const call of every())
          for (const headers of [
            { authorization: `Bearer ${token}` },
            { authorization: `bearer ${token}` },
            { 'x-api-key': token },
            { 'x-goog-api-key': token },
            { 'api-key': token },
          ]) {
            const answer = await send(call, { ...headersOf(call), ...headers })
            const what = `${call.method} ${call.path} ${Object.keys(headers)}: ${answer.text.slice(0, 200)}`
            if (chats.has(call.route.operation)) expect(answer.status, what).toBe(200)
            // Other errors in the call are reported after authentication.
            else expect(`${answer.status} ${answer.text}`, what).not.toMatch(/^401|API_KEY_INVALID/)
          }
      })

      test('accepts a token in the query on generateContent paths only', async () => {
        let received = 0
        for (const call of every()) {
          const answer = await send(call, { ...json, ...version }, `?key=${token}`)
          if (call.route.queryKey === true) {
            expect(call.path).toMatch(
              /^\/v1\w*\/(publishers\/\w+\/)?models|^(\/upload)?\/v1(beta)?\/files|^\/v1(beta)?\/cachedContents|^\/ws\/google/,
            )
            expect(`${answer.status} ${answer.text}`, call.path).not.toMatch(/^401|API_KEY_INVALID/)
            if (call.route.operation === 'generate') expect(answer.status, call.path).toBe(200)
            received++
            const wrong = await send(call, json, '?key=wrong')
            expectUnknownToken('gemini', wrong)
          } else expectUnknownToken(dialectOf(call, version), answer, call.route.operation)
        }
        expect(received).toBeGreaterThan(8)
        // The client's token must not reach the upstream, in any header or query.
        for (const { query, headers } of setting.current.fake.requests) {
          expect(query).not.toContain('key=')
          expect(JSON.stringify(headers)).not.toContain(token)
        }
      })

      /** Returns the dialect of the response if a header decides. */
      const dialectOf = ({ route }: RouteCall, headers: Record<string, string>): ClientFormat => {
        const own = Object.entries(route.formatByHeader ?? {}).find(([name]) => headers[name] !== undefined)
        const format = own?.[1] ?? route.format
        return isClientFormat(format) ? format : route.format
      }

      test('lists and serves only the models that the caller may use', async () => {
        const headers = { ...good, authorization: `Bearer ${narrowToken}` }
        expect((await setting.current.ask('chat', {}, headers)).status).toBe(200)
        const before = setting.current.fake.requests.length
        for (const format of clients) {
          const answer = await setting.current.ask(format, { model: 'messages-model' }, headers)
          expect(answer.status, format).toBe(404)
          errorIn(format, answer)
        }
        expect(setting.current.fake.requests).toHaveLength(before)
        const list = await setting.current.call({
          method: 'GET',
          path: '/v1/models',
          headers: { authorization: headers.authorization },
        })
        expect(listOf(objectOf(parseJson(list.text)).data).map((model) => objectOf(model).id)).toEqual(['chat-model'])
        for (const path of ['/v1/models/messages-model', '/v1beta/models/messages-model']) {
          const hidden = await setting.current.call({
            method: 'GET',
            path,
            headers: { authorization: headers.authorization },
          })
          expect(hidden.status).toBe(404)
        }
      })
    })

    describe('paths and methods', () => {
      test('accepts one /v1 too many or too few, and a trailing slash', async () => {
        for (const format of formats) {
          const path = pathOf(format, { model: `${format}-model` })
          // Only generateContent paths always have a prefix: without it, they could belong to another service.
          const bare = format === 'gemini' ? [] : [path.slice(3)]
          for (const variant of [`/v1${path}`, ...bare, `${path}/`, `${path}?beta=true`])
            expect(
              (await setting.current.call({ path: variant, headers: good, body: bodyOf(format) })).status,
              variant,
            ).toBe(200)
        }
        expect((await setting.current.call({ method: 'GET', path: '/v1/v1/models', headers: good })).status).toBe(200)
      })

      test('returns 405 with Allow in the dialect for a wrong method', async () => {
        for (const format of clients)
          for (const method of ['GET', 'PUT', 'DELETE'])
            for (const path of targetsOf(format)) {
              const answer = await setting.current.call({ method, path, headers: good })
              expect([answer.status, answer.headers.allow], `${method} ${path}`).toEqual([405, 'POST'])
              errorIn(format, answer)
            }
        expect(
          (await setting.current.call({ method: 'DELETE', path: '/v1/models', headers: bearer })).headers.allow,
        ).toContain('GET')
      })

      test('passes an unknown path to the host, or returns a JSON 404 without a host', async () => {
        for (const path of ['/', '/v1/nothing', '/chat/completions/more', '/v2/messages', '/v1beta/nothing']) {
          const answer = await setting.current.call({ method: 'GET', path, headers: bearer })
          expect(answer.status, path).toBe(404)
          if (server.hosted) expect(answer.text).toBe(hostsNotFound)
          else errorIn('chat', answer)
        }
      })

      test('serves paths that hosts may own, unless a host has its own routes', async () => {
        for (const [method, path] of [
          ['GET', '/info'],
          ['GET', '/models/info'],
          ['GET', '/api/v1/models'],
          ['POST', '/api/v1/chat/completions'],
          ['GET', '/models/chat/completions'],
        ] as const) {
          const answer = await setting.current.call({ method, path, headers: good, body: bodyOf('chat') })
          if (server.hosted) expect([answer.status, answer.text], path).toEqual([404, hostsNotFound])
          else expect(answer.status, path).not.toBe(404)
        }
      })

      if (server.hosted)
        test('leaves the host’s own routes unchanged', async () => {
          for (const path of ['/before', '/after'])
            expect((await setting.current.call({ method: 'GET', path })).text).toBe(path.slice(1))
        })

      test('lists models in the dialect of the caller', async () => {
        const list = async (path: string, headers: Record<string, string>): Promise<unknown> =>
          parseJson((await setting.current.call({ method: 'GET', path, headers })).text)
        expect(await list('/v1/models', bearer)).toMatchObject({ object: 'list' })
        expect(await list('/v1/models?limit=1000', { ...bearer, ...version })).toMatchObject({
          has_more: false,
          first_id: 'chat-model',
          last_id: 'responses-alias',
        })
        const first = { models: expect.arrayContaining([expect.objectContaining({ name: 'models/chat-model' })]) }
        expect(await list('/v1/models', { 'x-goog-api-key': token })).toMatchObject(first)
        expect(await list('/v1beta/models', bearer)).toMatchObject(first)
      })
    })

    describe('headers', () => {
      test('require a version for Messages, under either name, and report it', async () => {
        for (const [headers, status] of [
          [{}, 400],
          [{ 'anthropic-version': 'tomorrow' }, 400],
          [{ 'anthropic-version': '2023-13-45' }, 400],
          [{ 'vendor-version': '2023-6-1' }, 400],
          [{ 'vendor-version': '2023-06-01' }, 200],
          [{ 'anthropic-version': '2026-10-21' }, 200],
          [{ 'anthropic-version': '' }, 400],
          [{ 'anthropic-version': '' }, 400],
        ] as const) {
          const answer = await setting.current.post('messages', bodyOf('messages'), { ...json, ...bearer, ...headers })
          expect(answer.status, JSON.stringify(headers)).toBe(status)
          if (status === 400)
            expect(errorIn('messages', answer).message).toContain(Object.keys(headers)[0] ?? 'anthropic-version')
        }
      })

      test('return 415 for a content type other than JSON, and assume JSON without one', async () => {
        for (const format of formats)
          for (const path of targetsOf(format)) {
            const send = (type: string): Promise<RawAnswer> =>
              setting.current.call({ path, headers: { ...good, 'content-type': type }, body: bodyOf(format) })
            for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
              const answer = await send(type)
              expect(answer.status, type).toBe(415)
              errorIn(format, answer)
            }
            expect((await send('application/json; charset=utf-8')).status, path).toBe(200)
          }
      })

      test('include a new request id under both names in every response', async () => {
        const seen = new Set<string>()
        for (const answer of [
          await setting.current.post('chat', bodyOf('chat')),
          await setting.current.ask('messages', { stream: true }),
          await setting.current.ask('gemini', { stream: true }),
          await setting.current.ask('responses', { stream: true }),
          await setting.current.post('gemini', '{'),
          await setting.current.post('chat', '{'),
          await setting.current.post('messages', bodyOf('messages'), json),
          await setting.current.call({ method: 'GET', path: '/v1/models', headers: bearer }),
          await setting.current.call({ method: 'GET', path: '/v1/messages', headers: bearer }),
        ]) {
          expect(answer.headers['x-request-id']).toMatch(/^req_\w{10,}$/)
          expect(answer.headers['request-id']).toBe(answer.headers['x-request-id'])
          seen.add(answer.headers['x-request-id'] ?? '')
        }
        expect(seen.size).toBe(9)
      })

      test('forbid storing, buffering and transforming streams', async () => {
        for (const format of clients) {
          const { headers } = await setting.current.ask(format, { stream: true })
          expect(headers['content-type']?.split(';')[0]).toBe(clientFormatRows[format].streamType)
          expect(headers['cache-control']).toBe('no-cache, no-transform')
          expect(headers['content-length']).toBeUndefined()
        }
      })

      test('include none of the upstream’s headers', async () => {
        setting.current.fake.on(
          {},
          { headers: { 'openai-organization': 'org-of-the-gateway', 'set-cookie': 'a=b', 'x-secret': '1' } },
        )
        for (const format of clients)
          for (const stream of [false, true]) {
            const { headers } = await setting.current.ask(format, { stream })
            for (const name of ['openai-organization', 'set-cookie', 'x-secret', 'anthropic-organization-id'])
              expect(headers[name], name).toBeUndefined()
          }
      })
    })

    describe('bodies', () => {
      test('return 413 above the limit, with or without a content-length', async () => {
        for (const format of clients)
          for (const path of targetsOf(format))
            for (const body of [
              Buffer.from(bodyOf(format, { user: 'x'.repeat(5000) })),
              [Buffer.alloc(2000, 32), Buffer.alloc(2000, 32), Buffer.alloc(2000, 32)],
            ]) {
              const answer = await setting.current.call({ path, headers: good, body }, setting.current.smallPlace)
              expect(answer.status, path).toBe(413)
              errorIn(format, answer)
            }
        const small = { path: targetOf('chat'), headers: good, body: bodyOf('chat') }
        expect((await setting.current.call(small, setting.current.smallPlace)).status).toBe(200)
        expect(setting.current.fake.requests).toHaveLength(1)
      })

      const nested = (depth: number): string => `{"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`
      const bad: Readonly<Record<string, string | Uint8Array>> = {
        'invalid UTF-8': Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
        '200 levels': nested(200),
        '100,000 levels': nested(100_000),
        '100,000 unclosed levels': '['.repeat(100_000),
        'a truncated body': '{"model": "chat-model", "messages": [',
        'text that is not JSON': 'model=chat-model',
        'a list': '[]',
        null: 'null',
        'a string': '"hello"',
        nothing: '',
      }
      test.each(Object.keys(bad))('return 400 in the dialect for %s', async (name) => {
        for (const format of clients)
          for (const path of targetsOf(format)) {
            const answer = await setting.current.call({ path, headers: good, body: bad[name] ?? '' })
            expect(answer.status, path).toBe(400)
            expect(errorIn(format, answer).type).toBe(clientFormatRows[format].invalidType)
          }
        expect(setting.current.fake.requests).toHaveLength(0)
      })

      test('return 400 that names an invalid field', async () => {
        const foreign = { model: 'messages-model' }
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
          ['messages', { model: 'chat-model', thread: { type: 'create' } }, 'thread'],
          ['gemini', { contents: undefined }, 'contents'],
          ['responses', { model: undefined }, 'model'],
          // Beyond the limits of the specification, only translations reject values.
          ['gemini', { ...foreign, generationConfig: { temperature: 2.1 } }, 'generation_config.temperature'],
          ['gemini', { ...foreign, generationConfig: { topP: 1.1 } }, 'generation_config.top_p'],
          ['gemini', { ...foreign, contents: 5 }, 'contents'],
          ['gemini', { ...foreign, contents: [{ parts: 5 }] }, 'contents[0].parts'],
          ['responses', { ...foreign, temperature: 3 }, 'temperature'],
          ['responses', { ...foreign, top_p: -1 }, 'top_p'],
          ['responses', { ...foreign, input: 5 }, 'input'],
          ['responses', { ...foreign, input: [{ role: 'user', content: 5 }] }, 'input.0.content'],
          ['ollama', { model: undefined }, 'model'],
          ['ollama', { messages: 5 }, 'messages'],
          ['ollama', { messages: [{ role: 'user', content: 5 }] }, 'messages'],
          ['ollama', { options: { temperature: 'warm' } }, 'options.temperature'],
          ['converse', { messages: 5 }, 'messages'],
          ['converse', { messages: [{ role: 'user', content: 5 }] }, 'messages'],
          ['converse', { inferenceConfig: { temperature: 'warm' } }, 'inferenceConfig.temperature'],
        ] as const) {
          if (!clients.includes(format)) continue
          const answer = await setting.current.ask(format, more)
          expect(answer.status, `${format} ${Object.keys(more)}`).toBe(400)
          const error = errorIn(format, answer)
          expect(`${String(error.param)} ${error.message}`).toContain(param)
        }
        expect(setting.current.fake.requests).toHaveLength(0)
      })

      test('return 404 in every dialect for an unknown model', async () => {
        for (const [format, word] of [
          ['chat', 'model_not_found'],
          ['messages', 'not_found_error'],
          ['gemini', 'NOT_FOUND'],
          ['responses', 'model_not_found'],
          ['ollama', ''],
          ['converse', 'ResourceNotFoundException'],
        ] as const) {
          if (!clients.includes(format)) continue
          for (const path of targetsOf(format, 'gone')) {
            const body = bodyOf(format, { model: 'gone' })
            const answer = await setting.current.call({ path, headers: good, body })
            const { code, type } = errorIn(format, answer)
            expect([answer.status, typeof code === 'string' ? code : type], path).toEqual([404, word])
          }
        }
      })
    })

    setting.searchForSecrets()
  })

afterAll(() => console.log(`http: ${exchangesMade()} exchanges over ${servers.length} servers`))
