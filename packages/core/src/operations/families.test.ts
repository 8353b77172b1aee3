import { describe, expect, it } from 'vitest'
import type { Format, Operation } from '../base/names.ts'
import { type Answer, asJson, completion, generated, message, setUp } from '../gateway/create-gateway.test-support.ts'
import { agentFamilies, mounts } from './families.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'

/** No family has Bedrock's clients. */
type FamilyFormat = Exclude<Format, 'converse'>
type FamilyRoute = Route & { readonly format: FamilyFormat }

const token = { authorization: 'Bearer good' }
const json = { 'content-type': 'application/json' }
/** A model whose upstream speaks the format. */
const modelOf: { readonly [F in FamilyFormat]: string } = {
  chat: 'real',
  responses: 'real',
  messages: 'claude-x',
  gemini: 'gemini-x',
  ollama: 'real',
}

const pathOf = ({ path, format }: FamilyRoute): string =>
  path
    .replace('{model}', modelOf[format])
    .replace('{id}', 'resp_unknown')
    .replace('{publisher}', 'org')
    .replace('{project}', 'p')
    .replace('{location}', 'global')

const say = [{ role: 'user', content: 'hi' }]
const bodies: { readonly [F in FamilyFormat]: object } = {
  chat: { messages: say },
  messages: { messages: say, max_tokens: 10 },
  responses: { input: 'hi' },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ollama: { messages: say },
}
/** Returns the smallest body of a chat route. A path with a model needs none in the body. */
const bodyOf = ({ path, format }: FamilyRoute, more: object = {}): object => ({
  ...(path.includes('{model}') ? {} : { model: modelOf[format] }),
  ...bodies[format],
  ...more,
})

/** Bodies that refer to an object of an unknown owner. */
const references: { readonly [F in FamilyFormat]?: object } = {
  chat: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-theirs' } }] }] },
  messages: {
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_theirs' } }] }],
  },
  responses: { previous_response_id: 'resp_theirs' },
  gemini: { contents: [{ role: 'user', parts: [{ fileData: { fileUri: 'gs://theirs/file' } }] }] },
}

/** Returns whether a body is an error of a format. Rerank has Cohere's. */
function isErrorOf({ format, operation, adaptation }: Route, body: { [key: string]: unknown }): boolean {
  if (operation === 'rerank' || adaptation === 'cohere') return typeof body.message === 'string'
  const error = body.error as { [key: string]: unknown }
  switch (format) {
    case 'messages':
      return body.type === 'error' && typeof error.type === 'string'
    case 'gemini':
      return typeof error.status === 'string'
    default:
      return 'param' in error && typeof error.type === 'string'
  }
}

const familyRoutes = routes.filter((route): route is FamilyRoute => route.family !== undefined)
const chats = familyRoutes.filter(({ operation }) => operation === 'generate')
const nameOf = ({ method, path }: Route): string => `${method} ${path}`
const each = (list: readonly FamilyRoute[]) => list.map((route) => [nameOf(route), route] as const)

const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'real',
  status: 'completed',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'hello', annotations: [] }],
    },
  ],
  usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 },
}
const answers: { readonly [host: string]: Answer } = {
  a: (seen, signal) => asJson(seen.url.endsWith('/responses') ? response : completion)(seen, signal),
  m: asJson(message),
  g: asJson(generated),
}
// The failures of one route must not affect the next one.
const setting = setUp(answers, {
  explain: true,
  retry: false,
  breaker: false,
  health: { read: () => undefined, write() {} },
})
const send = (route: FamilyRoute, headers: Record<string, string>, body: object = bodyOf(route), query = '') =>
  setting.gateway.fetch(`http://gw${pathOf(route)}${query}`, {
    method: route.method,
    headers: route.method === 'POST' ? { ...json, ...headers } : headers,
    ...(route.method === 'POST' ? { body: JSON.stringify(body) } : {}),
  })

/** An error that authentication returns: Google reports a wrong key with status 400. */
const isUnauthenticated = (status: number, text: string): boolean =>
  status === 401 || (status === 400 && text.includes('API_KEY_INVALID'))

describe.each(each(familyRoutes))('%s', (_name, route) => {
  it('requires one valid token, and reports a missing one in the dialect of the route', async () => {
    const before = setting.seen.length
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { 'api-key': 'wrong' },
      { ...token, 'api-key': 'other' },
      { 'x-api-key': 'good', 'x-goog-api-key': 'other' },
    ]) {
      const reply = await send(route, headers)
      const text = await reply.text()
      expect(isUnauthenticated(reply.status, text), `${reply.status} ${text}`).toBe(true)
      expect(isErrorOf(route, JSON.parse(text)), text).toBe(true)
      expect(text).not.toContain('other')
    }
    expect(setting.seen.length).toBe(before)
  })

  it('accepts the token in each header, also twice, and in the query only in express mode of Vertex AI', async () => {
    for (const headers of [
      token,
      { 'api-key': 'good' },
      { 'x-api-key': 'good' },
      { 'x-goog-api-key': 'good' },
      { ...token, 'api-key': 'good', 'x-api-key': 'good' },
    ]) {
      const reply = await send(route, headers)
      const text = await reply.text()
      expect(isUnauthenticated(reply.status, text), `${reply.status} ${text}`).toBe(false)
    }
    const reply = await send(route, {}, bodyOf(route), '?key=good')
    expect(isUnauthenticated(reply.status, await reply.text())).toBe(
      !/^\/v1(?:beta1)?\/(?:publishers\/(?:google|\{publisher\})\/)?models/.test(route.path),
    )
  })
})

describe.each(each(chats))('%s', (_name, route) => {
  it('is explained like the path that it stands for', async () => {
    const reply = await send(route, token, bodyOf(route), '?modelgate=explain')
    expect(reply.status).toBe(200)
    const { format, model, stream, plan } = await reply.json()
    const name = route.modelName === undefined ? modelOf[route.format] : `org/${modelOf[route.format]}`
    expect([format, model, stream]).toEqual([route.format, name, route.stream === true])
    expect(plan).toMatchObject([{ lane: 'wire' }])
  })

  it('returns the response of the upstream', async () => {
    const reply = await send(route, token)
    // The upstream has no streams.
    if (route.stream === true) return
    expect(reply.status, await reply.clone().text()).toBe(200)
    expect(JSON.stringify(await reply.json())).toContain('hello')
  })

  it('refuses references to objects that the caller does not own', async () => {
    const before = setting.seen.length
    const reply = await send(route, token, bodyOf(route, references[route.format]))
    expect([reply.status, isErrorOf(route, await reply.json())]).toEqual([400, true])
    expect(setting.seen.length).toBe(before)
  })

  it('requires no header with a version', () => {
    expect(route.requires).toBeUndefined()
  })
})

describe('every other operation with references', () => {
  const bodiesOf: { readonly [O in Operation]?: object } = {
    'count-tokens': {},
    'image-edits': { prompt: 'x', images: [{ file_id: 'file-theirs' }] },
  }
  const others = familyRoutes.filter(({ operation }) => bodiesOf[operation] !== undefined)

  it.each(each(others))('refuses them on %s', async (_name, route) => {
    const counts = route.operation === 'count-tokens'
    const body = counts
      ? bodyOf(route, references[route.format])
      : { ...(route.path.includes('{model}') ? {} : { model: 'real' }), ...bodiesOf[route.operation] }
    const reply = await send(route, token, body)
    expect([reply.status, isErrorOf(route, await reply.json())]).toEqual([400, true])
  })

  it.each(each(familyRoutes.filter(({ path, object }) => path.includes('{id}') && object === undefined)))(
    'hides a stored response of another caller on %s',
    async (_name, route) => {
      const identities = { good: { id: 'me' }, other: { id: 'other' } } as const
      const { gateway, post } = setUp(
        { m: asJson(message) },
        { auth: (one) => (one === 'good' || one === 'other' ? identities[one] : null) },
      )
      const { id } = await (await post('/v1/responses', { model: 'claude-x', input: 'hi' })).json()
      const ask = (caller: string) =>
        gateway.fetch(`http://gw${route.path.replace('{id}', id)}`, {
          method: route.method,
          headers: { ...json, 'api-key': caller },
        })
      expect((await ask('other')).status).toBe(404)
      expect((await ask('good')).status).not.toBe(404)
    },
  )
})

describe('the table of families', () => {
  it('adds routes with each row, and no path twice', () => {
    for (const { family, prefix } of mounts)
      expect(
        familyRoutes.some((route) => route.family === family && route.path.startsWith(prefix)),
        prefix,
      ).toBe(true)
    const names = routes.map(nameOf)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  })

  it('adds a route for each path of a family that is known by its header', () => {
    for (const { family, agents, paths } of agentFamilies)
      for (const path of paths) {
        const all = routes.filter((route) => route.path === path).flatMap(({ byAgent = [] }) => byAgent)
        const own = all.filter(([, route]) => route.family === family && route.path === path)
        expect(
          own.map(([agent]) => agent),
          `${family} ${path}`,
        ).toEqual(agents)
      }
  })

  it('reports an unknown path in the dialect of the family', async () => {
    for (const [path, key] of [
      ['/anthropic/v1/nothing', 'type'],
      ['/openai/v1/nothing', 'error'],
    ] as const) {
      const reply = await setting.gateway.fetch(`http://gw${path}`, { headers: token })
      expect(reply.status).toBe(404)
      expect(Object.keys(await reply.json())).toContain(key)
    }
  })
})

describe('a body of a path that names the model', () => {
  const deployment = '/openai/deployments/alias/chat/completions?api-version=2024-10-21'
  const rawPredict = '/v1/projects/p/locations/l/publishers/anthropic/models/claude-x'

  it.each([
    ['without a model', '{"messages":[{"role":"user","content":"hi"}]}'],
    ['with another model', '{ "model" : "gpt-9", "messages":[{"role":"user","content":"hi"}]}'],
  ])('%s gets the model of the path, and keeps its other bytes', async (_name, body) => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const reply = await post(deployment, body)
    expect(reply.status, await reply.clone().text()).toBe(200)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ messages: say, model: 'real' })
    expect(seen[0]?.body).toContain('"messages":[{"role":"user","content":"hi"}]')
    expect(seen[0]?.body).not.toContain('gpt-9')
  })

  it('is checked like the model of any other body', async () => {
    const identity = { id: 'me', models: ['alias', 'claude*'] }
    const { post, seen } = setUp({ a: asJson(completion), m: asJson(message) }, { auth: () => identity })
    const statusOf = async (path: string, body: object) => (await post(path, body)).status
    const forbidden = '/openai/deployments/real/chat/completions'
    expect(await statusOf(forbidden, { messages: say, model: 'alias' })).toBe(404)
    expect(
      await statusOf(`${rawPredict.replace('claude-x', 'real')}:rawPredict`, { messages: say, max_tokens: 1 }),
    ).toBe(404)
    for (const more of [{ models: ['real'] }, { fallbacks: ['real'] }, { Model: 'real' }])
      expect(await statusOf(deployment, { messages: say, ...more }), JSON.stringify(more)).toBeGreaterThanOrEqual(400)
    expect(seen).toEqual([])
    expect(await statusOf(deployment, { messages: say, model: 'real' })).toBe(200)
  })

  it('may be large', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const content = 'ä'.repeat(100_000)
    expect((await post(deployment, { messages: [{ role: 'user', content }] })).status).toBe(200)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ messages: [{ role: 'user', content }], model: 'real' })
  })

  it.each([
    ['text that is not JSON', '{"anthropic_version":"x"} trailing', 'JSON'],
    ['a list', '[]', ''],
    ['too many levels', `{"anthropic_version":"x","a":${'['.repeat(200)}${']'.repeat(200)}}`, 'nested'],
  ])('is rejected if it is %s', async (_name, body, text) => {
    const { post, seen } = setUp({ m: asJson(message) })
    const reply = await post(`${rawPredict}:rawPredict`, body)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect((await reply.json()).error.message).toContain(text)
  })

  it('loses the API version of Vertex AI, which is no field of the format', async () => {
    const { post, seen } = setUp({ m: asJson(message) })
    const body = '{"anthropic_version":"vertex-2023-10-16","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}'
    const reply = await post(`${rawPredict}:rawPredict`, body)
    expect([reply.status, reply.headers.get('modelgate-loss')]).toEqual([200, null])
    expect(seen[0]?.url).toBe('http://m/v1/messages')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ max_tokens: 10, messages: say, model: 'claude-x' })
  })

  it('streams if the path or the body asks for it', async () => {
    const { post, seen } = setUp({ m: () => new Response('', { status: 500 }) }, { retry: false })
    const body = { anthropic_version: 'vertex-2023-10-16', max_tokens: 10, messages: say }
    for (const [action, more, stream] of [
      ['streamRawPredict', {}, true],
      ['streamRawPredict', { stream: true }, true],
      ['rawPredict', { stream: true }, true],
      ['rawPredict', {}, undefined],
    ] as const) {
      await post(`${rawPredict}:${action}`, { ...body, ...more })
      expect(JSON.parse(seen.at(-1)?.body ?? '').stream, action).toBe(stream)
    }
  })

  it.each(['..%2F..%2Fadmin', '%2e%2e', '..%5c..', '%00', 'a%0d%0ab', 'x'.repeat(3000)])(
    'cannot reach another path of the upstream with the model %s',
    async (model) => {
      const { post, seen } = setUp({ g: asJson(generated) }, { models: { '*': 'g' } })
      for (const path of [
        `/openai/deployments/${model}/chat/completions`,
        `/v1/publishers/google/models/${model}:generateContent`,
      ]) {
        await post(path, path.includes('openai') ? { messages: say } : bodies.gemini)
        for (const { url } of seen) expect(new URL(url).pathname).toMatch(/^\/v1beta\/models\/[^/]+:generateContent$/)
      }
    },
  )

  it('sends a form with the model of the path', async () => {
    const { gateway, seen } = setUp({ a: asJson({ text: 'hello' }) })
    for (const own of [undefined, 'whisper-9']) {
      const form = new FormData()
      if (own !== undefined) form.set('model', own)
      form.set('file', new Blob(['sound']), 'a.wav')
      const reply = await gateway.fetch('http://gw/openai/deployments/alias/audio/transcriptions?api-version=1', {
        method: 'POST',
        headers: { 'api-key': 'good' },
        body: form,
      })
      expect(reply.status, await reply.clone().text()).toBe(200)
      const sent = seen.at(-1)?.body ?? ''
      expect(sent.match(/name="model"\r\n\r\n(\w+)/g)).toEqual(['name="model"\r\n\r\nreal'])
    }
  })
})
