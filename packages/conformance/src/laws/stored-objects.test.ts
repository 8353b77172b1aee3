import {
  anthropic,
  createGateway,
  type Gateway,
  type GatewayConfig,
  memoryResponseStore,
  openai,
  type Route,
} from '@modelgate/core'
import { routes } from '@modelgate/core/test-support'
import { createFakeProvider } from '@modelgate/testing'
import { beforeEach, describe, expect, test } from 'vitest'

const provider = createFakeProvider({ models: ['gpt', 'claude'] })
let gateway: Gateway

const setUp = (config: Partial<GatewayConfig> = {}): Gateway =>
  createGateway({
    auth: (token) => ({ id: token }),
    upstreams: {
      openai: openai({ apiKey: 'k', baseURL: 'http://up/v1' }),
      claude: anthropic({ apiKey: 'k', baseURL: 'http://up' }),
    },
    models: { gpt: 'openai', claude: 'claude' },
    responses: { store: memoryResponseStore() },
    fetch: provider.fetch,
    logger: false,
    ...config,
  } as GatewayConfig)

beforeEach(() => {
  provider.reset()
  gateway = setUp()
})

/** Headers that select the format of a route. */
const headersOf = (format: string): Record<string, string> =>
  format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}

const send = (
  token: string,
  method: string,
  path: string,
  format: string,
  body?: BodyInit | object,
): Promise<Response> => {
  const isForm = body instanceof FormData
  return gateway.fetch(`http://gateway${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...headersOf(format),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
}

const fileForm = (format: string, text = 'hello'): FormData => {
  const form = new FormData()
  if (format !== 'messages') form.set('purpose', 'user_data')
  form.set('file', new File([text], 'a.txt', { type: 'text/plain' }))
  return form
}

/** A body that creates an object of each kind, and one that changes it. */
const bodies: Readonly<
  Record<NonNullable<Route['object']>, { create(format: string): FormData | object; update?: object }>
> = {
  files: { create: (format) => fileForm(format) },
  conversations: {
    create: () => ({ items: [{ type: 'message', role: 'user', content: 'hi' }] }),
    update: { metadata: { topic: 'x' }, items: [] },
  },
}

const create = async (token: string, kind: NonNullable<Route['object']>, format: string): Promise<string> => {
  const { path } = routes.find((route) => route.object === kind && route.operation === 'create-object') as Route
  const response = await send(token, 'POST', path, format, bodies[kind].create(format))
  expect(response.status).toBe(200)
  return ((await response.json()) as { id: string }).id
}

/** Every verb of every kind, in each format that its path serves. */
const verbs = routes
  .filter((route): route is Route & { object: NonNullable<Route['object']> } => route.object !== undefined)
  .flatMap((route) =>
    [...new Set([route.format, ...Object.values(route.formatByHeader ?? {})])].map((format) => ({
      ...route,
      format,
      kind: route.object,
      title: `${route.method} ${route.path} (${format})`,
    })),
  )
const onOne = verbs.filter(({ path }) => path.includes('{id}'))

/** The body of a verb. An update of metadata accepts no items, and the other way round. */
const bodyOf = ({ method, kind, path }: (typeof onOne)[number]): object | undefined => {
  if (method !== 'POST') return undefined
  return path.endsWith('/items') ? { items: [] } : { metadata: bodies[kind].update === undefined ? {} : { topic: 'x' } }
}

/** Returns the path for an object, and an item of it. */
async function pathFor({ path, kind, format }: (typeof onOne)[number], id: string): Promise<string> {
  let item = 'none'
  if (kind === 'conversations' && path.includes('{item}')) {
    const items = await send('ann', 'GET', `/v1/conversations/${id}/items`, format)
    item = ((await items.json()) as { data: { id: string }[] }).data[0]?.id ?? item
  }
  return path.replace('{id}', id).replace('{item}', item)
}

describe('a stored object', () => {
  test.each(onOne)('of another identity is not found, without an upstream call: $title', async (verb) => {
    const id = await create('ann', verb.kind, verb.format)
    const path = await pathFor(verb, id)
    const before = provider.requests.length
    const response = await send('bob', verb.method, path, verb.format, bodyOf(verb))
    expect(response.status).toBe(404)
    const { error } = (await response.json()) as { error: { message: string } }
    expect(error.message).toContain(id)
    expect(provider.requests).toHaveLength(before)
  })

  test.each(onOne)('is available to its owner: $title', async (verb) => {
    const id = await create('ann', verb.kind, verb.format)
    const response = await send('ann', verb.method, await pathFor(verb, id), verb.format, bodyOf(verb))
    expect(response.status).toBe(200)
    await response.text()
  })

  test.each(onOne.filter(({ operation }) => operation === 'delete-object'))(
    'is not found after its owner deleted it: $title',
    async (verb) => {
      const id = await create('ann', verb.kind, verb.format)
      const path = await pathFor(verb, id)
      expect((await send('ann', 'DELETE', path, verb.format)).status).toBe(200)
      expect((await send('ann', 'GET', path, verb.format)).status).toBe(404)
    },
  )

  test.each(verbs.filter(({ operation }) => operation === 'list-objects'))(
    'is in the list of its owner only: $title',
    async ({ kind, path, format }) => {
      const own = [await create('ann', kind, format), await create('ann', kind, format)]
      await create('bob', kind, format)
      const listed = async (token: string, query = '') => {
        const response = await send(token, 'GET', path + query, format)
        return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
      }
      expect(await listed('ann')).toEqual([...own].reverse())
      expect(await listed('eve')).toEqual([])
      const cursor = format === 'messages' ? 'after_id' : 'after'
      expect(await listed('ann', `?limit=1&${cursor}=${own[1]}`)).toEqual([own[0]])
      const foreign = await send('eve', 'GET', `${path}?${cursor}=${own[1]}`, format)
      expect(foreign.status).toBe(400)
    },
  )

  test.each(onOne.filter(({ path }) => path.endsWith('{id}')))('has no hostile id: $title', async (verb) => {
    const id = await create('ann', verb.kind, verb.format)
    const before = provider.requests.length
    const hostile = [
      id.slice(0, -1),
      `${id}x`,
      `..%2F${id}`,
      `${id}%2F..%2F..%2Fmodels`,
      '%2e%2e',
      `${id}%3Fx=1`,
      'x'.repeat(10_000),
      '__proto__',
    ]
    for (const one of hostile) {
      const response = await send('ann', verb.method, verb.path.replace('{id}', one), verb.format, bodyOf(verb))
      expect([one.slice(0, 40), response.status]).toEqual([one.slice(0, 40), 404])
    }
    expect(provider.requests).toHaveLength(before)
  })

  test('of one API is not found through the other', async () => {
    const id = await create('ann', 'files', 'chat')
    expect((await send('ann', 'GET', `/v1/files/${id}`, 'messages')).status).toBe(404)
  })
})

describe('a reference to a stored object', () => {
  const chatWith = (token: string, file_id: string): Promise<Response> =>
    send(token, 'POST', '/v1/chat/completions', 'chat', {
      model: 'gpt',
      messages: [{ role: 'user', content: [{ type: 'file', file: { file_id } }] }],
    })

  test('is accepted from its owner and rejected from others', async () => {
    const id = await create('ann', 'files', 'chat')
    expect((await chatWith('ann', id)).status).toBe(200)
    const before = provider.requests.length
    expect((await chatWith('bob', id)).status).toBe(400)
    expect(provider.requests).toHaveLength(before)
  })

  test('in the items of a conversation is rejected unless the caller owns it', async () => {
    const id = await create('ann', 'files', 'chat')
    const items = [{ type: 'message', role: 'user', content: [{ type: 'input_file', file_id: id }] }]
    expect((await send('ann', 'POST', '/v1/conversations', 'responses', { items })).status).toBe(200)
    expect((await send('bob', 'POST', '/v1/conversations', 'responses', { items })).status).toBe(400)
    const own = await create('bob', 'conversations', 'responses')
    expect((await send('bob', 'POST', `/v1/conversations/${own}/items`, 'responses', { items })).status).toBe(400)
  })
})

describe('creating an object', () => {
  test('is rejected with the setting to change if owners are not stored', async () => {
    gateway = setUp({ auth: 'none', responses: {} })
    const response = await send('', 'POST', '/v1/files', 'chat', fileForm('chat'))
    expect(response.status).toBe(400)
    expect(await response.text()).toContain("'responses.store'")
    expect(provider.requests).toHaveLength(0)
  })

  test("works without stored owners if all callers trust each other ('pass')", async () => {
    gateway = setUp({ auth: 'none', responses: {}, references: { files: 'pass' } })
    const id = await create('', 'files', 'chat')
    expect(await (await send('', 'GET', `/v1/files/${id}/content`, 'chat')).text()).toBe('hello')
    expect(await (await send('', 'GET', '/v1/files', 'chat')).json()).toMatchObject({ data: [{ id }] })
    expect((await send('', 'DELETE', `/v1/files/${id}`, 'chat')).status).toBe(200)
  })

  test('needs a choice if several upstreams can store it', async () => {
    const upstreams = {
      one: openai({ apiKey: 'k', baseURL: 'http://one/v1' }),
      two: openai({ apiKey: 'k', baseURL: 'http://two/v1' }),
    }
    gateway = setUp({ upstreams, models: { gpt: 'one' } })
    const response = await send('ann', 'POST', '/v1/files', 'chat', fileForm('chat'))
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("'objects.upstreams'")])
    gateway = setUp({ upstreams, models: { gpt: 'one' }, objects: { upstreams: ['two'] } })
    await create('ann', 'files', 'chat')
    expect(provider.requests.at(-1)?.path).toBe('/v1/files')
  })

  test('deletes the new object if its owner cannot be stored', async () => {
    const store = { ...memoryResponseStore(), set: () => Promise.reject(new Error('full')) }
    gateway = setUp({ responses: { store } })
    expect((await send('ann', 'POST', '/v1/files', 'chat', fileForm('chat'))).status).toBe(500)
    expect(provider.requests.map(({ method }) => method)).toEqual(['POST', 'DELETE'])
  })

  test('passes on the error of the upstream in its own words', async () => {
    const form = fileForm('messages')
    const response = await send('ann', 'POST', '/v1/files', 'chat', form)
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("'purpose' is a required property"),
    ])
  })

  test('rejects an upload that is larger than limits.uploadBytes', async () => {
    gateway = setUp({ limits: { uploadBytes: 1000, bodyBytes: 1000 } })
    expect((await send('ann', 'POST', '/v1/files', 'chat', fileForm('chat', 'x'.repeat(5000)))).status).toBe(413)
  })

  test.each([{ objects: { upstreams: ['nope'] } }, { objects: { ttlMs: 0 } }])(
    'is configured with a checked setting: %j',
    (config) => {
      expect(() => setUp(config as never)).toThrow(/objects\./)
    },
  )

  test('is admitted by plugins and settled as a request without tokens', async () => {
    const events: unknown[] = []
    const plugin = {
      name: 'watch',
      admit: ({ operation }: { operation: string }) => void events.push(['admit', operation]),
      onFinish: ({ operation, status }: { operation: string; status: number }) =>
        void events.push(['finish', operation, status]),
    }
    gateway = setUp({ plugins: [plugin as never] })
    const id = await create('ann', 'files', 'chat')
    await (await send('ann', 'GET', `/v1/files/${id}/content`, 'chat')).text()
    expect(events).toEqual([
      ['admit', 'create-object'],
      ['finish', 'create-object', 200],
      ['admit', 'get-object-content'],
      ['finish', 'get-object-content', 200],
    ])
  })
})
