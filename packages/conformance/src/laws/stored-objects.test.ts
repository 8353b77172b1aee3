import {
  anthropic,
  createGateway,
  type FinishEvent,
  type Gateway,
  type GatewayConfig,
  gemini,
  memoryResponseStore,
  openai,
  type Plugin,
  type Route,
} from '@modelgate/core'
import { routes } from '@modelgate/core/test-support'
import { createFakeProvider } from '@modelgate/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'

const provider = createFakeProvider({
  models: ['gpt', 'claude', 'gemini-pro', 'gemini-flash'],
  // Read at each call, so that it follows a test's clock.
  now: () => Date.now(),
})
const dayMs = 24 * 60 * 60 * 1000
let gateway: Gateway
let clock = 0
/** Google reports a rejected key, like a missing file, with 403. */
let isKeyAccepted = true

const rejectedKey = {
  error: { code: 403, message: 'Your API key was reported as leaked.', status: 'PERMISSION_DENIED' },
}

const upstreamFetch: typeof fetch = async (input, init) => {
  const isGoogle = new Headers(init?.headers).has('x-goog-api-key')
  return isGoogle && !isKeyAccepted ? Response.json(rejectedKey, { status: 403 }) : provider.fetch(input, init)
}

const setUp = (config: Partial<GatewayConfig> = {}): Gateway =>
  createGateway({
    auth: (token) => ({ id: token }),
    upstreams: {
      openai: openai({ apiKey: 'k', baseURL: 'http://up/v1' }),
      claude: anthropic({ apiKey: 'k', baseURL: 'http://up' }),
      google: gemini({ apiKey: 'k', baseURL: 'http://up' }),
    },
    models: {
      gpt: 'openai',
      claude: 'claude',
      'gemini-pro': 'google',
      gem: { upstream: 'google', model: 'gemini-flash' },
    },
    responses: { store: memoryResponseStore({ now: () => clock }) },
    fetch: upstreamFetch,
    logger: false,
    ...config,
  } as GatewayConfig)

beforeEach(() => {
  provider.reset()
  clock = 0
  isKeyAccepted = true
  gateway = setUp()
})

/** Headers that select the format of a route. */
const headersOf = (format: string, token: string): Record<string, string> =>
  format === 'gemini'
    ? { 'x-goog-api-key': token }
    : { authorization: `Bearer ${token}`, ...(format === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}) }

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
      ...headersOf(format, token),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
}

const callForm = (): FormData => {
  const form = new FormData()
  form.set('sdp', 'v=0\r\n')
  form.set('session', JSON.stringify({ type: 'realtime', model: 'gpt' }))
  return form
}

const skillForm = (): FormData => {
  const form = new FormData()
  form.append('files[]', new File(['---\nname: a\n---\n'], 'a/SKILL.md', { type: 'text/markdown' }))
  return form
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
  caches: {
    create: () => ({ model: 'models/gem', contents: [{ role: 'user', parts: [{ text: 'word '.repeat(1100) }] }] }),
    update: { ttl: '600s' },
  },
  batches: {
    create: () => ({
      requests: [
        {
          custom_id: 'a',
          params: { model: 'claude', max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] },
        },
      ],
    }),
  },
  calls: { create: callForm },
  skills: { create: skillForm },
  conversations: {
    create: () => ({ items: [{ type: 'message', role: 'user', content: 'hi' }] }),
    update: { metadata: { topic: 'x' }, items: [] },
  },
}

/** Begins a resumable upload, and returns the URL for its content. */
const startUpload = async (token: string, file: object = {}, length = 5): Promise<Response> =>
  gateway.fetch('http://gateway/upload/v1beta/files', {
    method: 'POST',
    headers: {
      'x-goog-api-key': token,
      'content-type': 'application/json',
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(length),
      'x-goog-upload-header-content-type': 'text/plain',
    },
    body: JSON.stringify({ file }),
  })

const sendPart = (token: string, url: string, command: string, text = '', offset = 0): Promise<Response> =>
  gateway.fetch(url, {
    method: 'POST',
    headers: {
      'x-goog-api-key': token,
      'x-goog-upload-command': command,
      'x-goog-upload-offset': String(offset),
    },
    body: text,
  })

const uploadUrlOf = ({ headers }: Response): string => headers.get('x-goog-upload-url') ?? ''

const createGoogleFile = async (token: string): Promise<string> => {
  const url = uploadUrlOf(await startUpload(token))
  const { file } = (await (await sendPart(token, url, 'upload, finalize', 'hello')).json()) as {
    file: { name: string }
  }
  return file.name.slice('files/'.length)
}

/** Uploads the requests of a batch, and returns the body that creates it. */
const fileBatch = async (token: string): Promise<object> => {
  const endpoint = '/v1/chat/completions'
  const body = { model: 'gpt', messages: [{ role: 'user', content: 'hi' }] }
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new File([JSON.stringify({ custom_id: 'a', method: 'POST', url: endpoint, body })], 'in.jsonl'))
  const { id } = (await (await send(token, 'POST', '/v1/files', 'chat', form)).json()) as { id: string }
  return { input_file_id: id, endpoint, completion_window: '24h' }
}

const creations: ReadonlySet<string> = new Set(['create-object', 'create-cache', 'create-call'])

const create = async (token: string, kind: NonNullable<Route['object']>, format: string): Promise<string> => {
  if (format === 'gemini' && kind === 'files') return createGoogleFile(token)
  const { path } = routes.find(
    (route) =>
      route.object === kind &&
      creations.has(route.operation) &&
      [route.format, ...Object.values(route.formatByHeader ?? {})].includes(format as Route['format']),
  ) as Route
  const body = kind === 'batches' && format === 'chat' ? await fileBatch(token) : bodies[kind].create(format)
  const response = await send(token, 'POST', path, format, body)
  expect(response.status).toBe(kind === 'calls' ? 201 : 200)
  if (kind === 'calls') return response.headers.get('location')?.split('/').pop() ?? ''
  const { id, name = '' } = (await response.json()) as { id?: string; name?: string }
  return id ?? name.slice(name.indexOf('/') + 1)
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
  if (kind === 'skills') return method === 'POST' ? skillForm() : undefined
  if (method === 'PATCH') return bodies[kind].update
  if (method !== 'POST' || path.endsWith('/cancel') || path.endsWith('/hangup')) return undefined
  if (kind === 'calls') return { type: 'realtime', model: 'gpt', target_uri: 'tel:+14155550123' }
  return path.endsWith('/items') ? { items: [] } : { metadata: bodies[kind].update === undefined ? {} : { topic: 'x' } }
}

/** Returns the path for an object, and an item of it. */
async function pathFor({ path, kind, format }: (typeof onOne)[number], id: string): Promise<string> {
  let item = 'none'
  if (kind === 'skills' && path.includes('{item}')) {
    const versions = await send('ann', 'GET', `/v1/skills/${id}/versions`, format)
    item = ((await versions.json()) as { data: { id: string }[] }).data[0]?.id ?? item
  }
  if (kind === 'conversations' && path.includes('{item}')) {
    const items = await send('ann', 'GET', `/v1/conversations/${id}/items`, format)
    item = ((await items.json()) as { data: { id: string }[] }).data[0]?.id ?? item
  }
  return path.replace('{id}', id).replace('{item}', item)
}

/** Retrieves a batch until it has ended, for verbs that need that. */
async function finish({ kind, format, method, path }: (typeof onOne)[number], id: string): Promise<void> {
  if (kind === 'skills' && method === 'DELETE' && path.endsWith('{id}')) {
    const versions = await send('ann', 'GET', `/v1/skills/${id}/versions`, format)
    for (const { id: version } of ((await versions.json()) as { data: { id: string }[] }).data)
      await send('ann', 'DELETE', `/v1/skills/${id}/versions/${version}`, format)
  }
  if (kind !== 'batches' || (method !== 'DELETE' && !path.endsWith('/results'))) return
  for (const _ of [1, 2]) await send('ann', 'GET', `${path.slice(0, path.indexOf('/{id}'))}/${id}`, format)
}

/** Query parameters of a page, and what precedes an id in a cursor. */
const pageParameters: Readonly<Record<string, readonly [size: string, cursor: string, prefix: string]>> = {
  messages: ['limit', 'after_id', ''],
  gemini: ['pageSize', 'pageToken', 'files/'],
}
const skillPages = ['limit', 'page', ''] as const

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
    await finish(verb, id)
    const path = await pathFor(verb, id)
    const response = await send('ann', verb.method, path, verb.format, bodyOf(verb))
    // The provider accepts, rejects and transfers phone calls only.
    expect(response.status).toBe(verb.kind === 'calls' && !path.endsWith('/hangup') ? 404 : 200)
    expect(provider.requests.at(-1)?.path).toContain(id)
    await response.text()
  })

  test.each(onOne.filter(({ operation }) => operation === 'delete-object'))(
    'is not found after its owner deleted it: $title',
    async (verb) => {
      const id = await create('ann', verb.kind, verb.format)
      await finish(verb, id)
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
        const page = (await response.json()) as {
          data?: { id: string }[]
          files?: { name: string }[]
          cachedContents?: { name: string }[]
        }
        const named = page.files ?? page.cachedContents ?? []
        return page.data?.map(({ id }) => id) ?? named.map(({ name }) => name.slice(name.indexOf('/') + 1))
      }
      expect(await listed('ann')).toEqual([...own].reverse())
      expect(await listed('eve')).toEqual([])
      const [size, cursor, ...prefixes] = (kind === 'skills' ? skillPages : pageParameters[format]) ?? [
        'limit',
        'after',
        '',
      ]
      const prefix = kind === 'caches' ? 'cachedContents/' : prefixes[0]
      expect(await listed('ann', `?${size}=1&${cursor}=${prefix}${own[1]}`)).toEqual([own[0]])
      const foreign = await send('eve', 'GET', `${path}?${cursor}=${prefix}${own[1]}`, format)
      expect(foreign.status).toBe(400)
    },
  )

  test.each(onOne.filter(({ path, kind }) => path.endsWith('{id}') || kind === 'calls'))(
    'has no hostile id: $title',
    async (verb) => {
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
        // URLs resolve dots to the folder above, which may be a path with other methods.
        const status = one === '%2e%2e' && response.status === 405 ? 404 : response.status
        expect([one.slice(0, 40), status]).toEqual([one.slice(0, 40), 404])
      }
      expect(provider.requests).toHaveLength(before)
    },
  )

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

  test('to a custom skill is accepted from its owner only, and to a skill of Anthropic from all', async () => {
    const skill_id = await create('ann', 'skills', 'messages')
    const ask = (token: string, type: string, id: string): Promise<Response> =>
      send(token, 'POST', '/v1/messages', 'messages', {
        model: 'claude',
        max_tokens: 20,
        messages: [{ role: 'user', content: 'hi' }],
        container: { skills: [{ type, skill_id: id, version: 'latest' }] },
      })
    expect((await ask('ann', 'custom', skill_id)).status).not.toBe(400)
    const before = provider.requests.length
    const refused = await ask('bob', 'custom', skill_id)
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('references.skills') } },
    ])
    expect(provider.requests).toHaveLength(before)
    await ask('bob', 'anthropic', 'pptx')
    expect(provider.requests).toHaveLength(before + 1)
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

describe('a resumable upload', () => {
  const ask = (token: string, fileUri: string): Promise<Response> =>
    send(token, 'POST', '/v1beta/models/gemini-pro:generateContent', 'gemini', {
      contents: [{ role: 'user', parts: [{ fileData: { fileUri, mimeType: 'text/plain' } }] }],
    })

  test('sends a file in parts, and its owner refers to it by its URI', async () => {
    const started = await startUpload('ann', { displayName: 'a' })
    expect([started.status, started.headers.get('x-goog-upload-status')]).toEqual([200, 'active'])
    const url = uploadUrlOf(started)
    expect(url).toMatch(/^http:\/\/gateway\/upload\/v1beta\/files\?upload_id=upload_/)
    const first = await sendPart('ann', url, 'upload', 'hel')
    expect([first.status, first.headers.get('x-goog-upload-size-received')]).toEqual([200, '3'])
    const last = await sendPart('ann', url, 'upload, finalize', 'lo', 3)
    expect(last.headers.get('x-goog-upload-status')).toBe('final')
    const { file } = (await last.json()) as { file: { uri: string; sizeBytes: string; displayName: string } }
    expect(file).toMatchObject({ sizeBytes: '5', displayName: 'a' })
    expect((await ask('ann', file.uri)).status).toBe(200)
    const before = provider.requests.length
    for (const uri of [file.uri, file.uri.replace('v1beta', 'v1'), file.uri.replace('https:', 'HTTPS:')])
      expect((await ask('bob', uri)).status).toBe(400)
    expect(provider.requests).toHaveLength(before)
    expect((await sendPart('ann', url, 'query')).status).toBe(404)
  })

  test('is not found for another identity, without an upstream call', async () => {
    const url = uploadUrlOf(await startUpload('ann'))
    const before = provider.requests.length
    for (const command of ['upload, finalize', 'query', 'cancel'])
      expect((await sendPart('bob', url, command, 'x')).status).toBe(404)
    expect(provider.requests).toHaveLength(before)
    expect((await sendPart('ann', url, 'upload, finalize', 'hello')).status).toBe(200)
  })

  test('keeps its state after a rejected part, and ends when it is cancelled', async () => {
    const url = uploadUrlOf(await startUpload('ann'))
    expect((await sendPart('ann', url, 'upload', 'hel', 7)).status).toBe(400)
    expect((await sendPart('ann', url, 'query')).headers.get('x-goog-upload-size-received')).toBe('0')
    expect((await sendPart('ann', url, 'cancel')).headers.get('x-goog-upload-status')).toBe('cancelled')
    expect((await sendPart('ann', url, 'query')).status).toBe(404)
  })

  test('is forgotten after a day, and the 101st unfinished one of an identity replaces the oldest one', async () => {
    const foreign = uploadUrlOf(await startUpload('bob'))
    const urls: string[] = []
    for (let count = 0; count < 101; count++) {
      const started = await startUpload('ann')
      expect(started.status).toBe(200)
      urls.push(uploadUrlOf(started))
    }
    const [oldest = '', second = '', third = ''] = urls
    expect((await sendPart('ann', oldest, 'query')).status).toBe(404)
    expect((await sendPart('ann', second, 'upload, finalize', 'hello')).status).toBe(200)
    expect((await startUpload('ann')).status).toBe(200)
    expect((await sendPart('ann', third, 'query')).status).toBe(200)
    expect((await sendPart('bob', foreign, 'query')).status).toBe(200)
    clock += dayMs + 1000
    expect((await sendPart('ann', third, 'query')).status).toBe(404)
  })

  test.each([
    [400, undefined, false],
    [404, undefined, false],
    [410, undefined, false],
    [503, 'final', false],
    [400, 'active', true],
    [403, undefined, true],
    [429, undefined, true],
    [503, undefined, true],
  ] as const)(
    'after an error %i of the upstream with the status %s continues: %s',
    async (status, state, continues) => {
      let fails = false
      const headers = state === undefined ? {} : { 'x-goog-upload-status': state }
      gateway = setUp({
        fetch: (input, init) =>
          fails
            ? Promise.resolve(Response.json({ error: { code: status, message: 'no' } }, { status, headers }))
            : provider.fetch(input, init),
      })
      const url = uploadUrlOf(await startUpload('ann'))
      fails = true
      expect((await sendPart('ann', url, 'cancel')).status).toBeGreaterThanOrEqual(400)
      fails = false
      const before = provider.requests.length
      expect((await sendPart('ann', url, 'query')).status).toBe(continues ? 200 : 404)
      expect(provider.requests).toHaveLength(before + (continues ? 1 : 0))
    },
  )

  test('does not show the address of its upstream', async () => {
    const started = await startUpload('ann')
    expect(JSON.stringify([...started.headers])).not.toContain('//up/')
    expect(JSON.stringify([...started.headers])).not.toContain('AJRbA5')
  })

  test.each([
    ['with a name that the client chooses', () => startUpload('ann', { name: 'files/mine' }), 400, 'file.name'],
    ['that announces too many bytes', () => startUpload('ann', {}, 2 ** 40), 413, 'larger than the limit'],
    [
      'with another protocol',
      () => send('ann', 'POST', '/upload/v1beta/files', 'gemini', { file: {} }),
      400,
      'x-goog-upload-protocol',
    ],
  ] as const)('is rejected without an upstream call: %s', async (_, begin, status, text) => {
    const response = await begin()
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(text)])
    expect(provider.requests).toHaveLength(0)
  })

  test('may not exceed the size limit by its number of parts', async () => {
    gateway = setUp({ limits: { uploadBytes: 1000, bodyBytes: 1000 } })
    const url = uploadUrlOf(await startUpload('ann'))
    expect((await sendPart('ann', url, 'upload', 'x'.repeat(900))).status).toBe(200)
    expect((await sendPart('ann', url, 'upload, finalize', 'x'.repeat(900), 900)).status).toBe(413)
    expect((await sendPart('ann', url, 'upload, finalize', 'x', 5000)).status).toBe(413)
  })

  test('deletes the new file if its owner cannot be stored', async () => {
    const store = memoryResponseStore()
    let isFull = false
    const failing = {
      ...store,
      set: (...args: Parameters<typeof store.set>) => (isFull ? Promise.reject(new Error('full')) : store.set(...args)),
    }
    gateway = setUp({ responses: { store: failing } })
    const url = uploadUrlOf(await startUpload('ann'))
    isFull = true
    expect((await sendPart('ann', url, 'upload, finalize', 'hello')).status).toBe(500)
    expect(provider.requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'DELETE'])
  })

  test('leaves a file that is not found once the provider no longer has it', async () => {
    const id = await createGoogleFile('ann')
    await provider.fetch(`http://up/v1beta/files/${id}`, { method: 'DELETE', headers: { 'x-goog-api-key': 'k' } })
    expect((await send('ann', 'GET', `/v1beta/files/${id}`, 'gemini')).status).toBe(404)
    expect(await (await send('ann', 'GET', '/v1beta/files', 'gemini')).json()).toEqual({})
  })
})

describe('a list of Google files', () => {
  test('is the error of the upstream if it rejects the credential of the gateway', async () => {
    const id = await createGoogleFile('ann')
    isKeyAccepted = false
    for (const path of ['/v1beta/files', `/v1beta/files/${id}`]) {
      const response = await send('ann', 'GET', path, 'gemini')
      expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('own credentials')])
    }
    isKeyAccepted = true
    expect(await (await send('ann', 'GET', '/v1beta/files', 'gemini')).json()).toMatchObject({
      files: [{ name: `files/${id}` }],
    })
  })

  test('has no files after their lifetime, and their records do not count', async () => {
    const store = memoryResponseStore()
    gateway = setUp({ responses: { store } })
    const createdAt = Date.now() - 49 * 60 * 60 * 1000
    const expired = Array.from({ length: 5000 }, (_, at) => ({ id: `files/old${at}`, upstream: 'google', createdAt }))
    for (const file of expired) store.set(`object:ann:files:${file.id}`, JSON.stringify(file), 2 * dayMs)
    store.set('objects:ann:files', JSON.stringify(expired), 2 * dayMs)
    const id = await createGoogleFile('ann')
    expect(await (await send('ann', 'GET', '/v1beta/files', 'gemini')).json()).toMatchObject({
      files: [{ name: `files/${id}` }],
    })
    expect(JSON.parse(String(store.get('objects:ann:files')))).toHaveLength(1)
    for (const at of [0, 4999]) expect(store.get(`object:ann:files:files/old${at}`)).toBeUndefined()
  })
})

describe('cached content', () => {
  const content = (model = 'models/gem') => ({ ...bodies.caches.create(''), model })
  const createCache = (token: string, body: object = content()): Promise<Response> =>
    send(token, 'POST', '/v1beta/cachedContents', 'gemini', body)
  const ask = (token: string, cachedContent: string, model = 'gem', verb = 'generateContent'): Promise<Response> =>
    send(token, 'POST', `/v1beta/models/${model}:${verb}`, 'gemini', {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      cachedContent,
    })

  const count = (token: string, cachedContent: string, model: string): Promise<Response> =>
    send(token, 'POST', `/v1beta/models/${model}:countTokens`, 'gemini', {
      generateContentRequest: {
        model: `models/${model}`,
        contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
        cachedContent,
      },
    })

  test('is created with the name that its upstream has for the model, and shows the name of the client', async () => {
    const created = (await (await createCache('ann')).json()) as { name: string; model: string; expireTime: string }
    expect(created.model).toBe('models/gem')
    expect(provider.requests.at(-1)?.body).toMatchObject({ model: 'models/gemini-flash' })
    const path = `/v1beta/${created.name}`
    expect(await (await send('ann', 'GET', path, 'gemini')).json()).toEqual(created)
    const { cachedContents } = (await (await send('ann', 'GET', '/v1beta/cachedContents', 'gemini')).json()) as {
      cachedContents: object[]
    }
    expect(cachedContents).toEqual([created])
    const changed = await send('ann', 'PATCH', `${path}?updateMask=ttl`, 'gemini', { ttl: '7200s' })
    expect(provider.requests.at(-1)?.query).toBe('updateMask=ttl')
    expect(await changed.json()).toMatchObject({ model: 'models/gem', name: created.name })
  })

  test('is accepted in requests of its owner only', async () => {
    const { name } = (await (await createCache('ann')).json()) as { name: string }
    for (const verb of ['generateContent', 'streamGenerateContent'])
      expect((await ask('ann', name, 'gem', verb)).status).toBe(200)
    const before = provider.requests.length
    expect((await ask('bob', name)).status).toBe(400)
    expect((await ask('ann', `${name}x`)).status).toBe(400)
    expect(provider.requests).toHaveLength(before)
  })

  test('is sent to the upstream that has it, even if another target comes first', async () => {
    const urls: string[] = []
    const google = (name: string) => gemini({ apiKey: 'k', baseURL: `http://${name}` })
    gateway = setUp({
      upstreams: { one: google('one'), two: google('two') },
      models: {
        gem: [
          { upstream: 'one', model: 'gemini-flash' },
          { upstream: 'two', model: 'gemini-flash' },
        ],
        other: 'one',
      },
      objects: { upstreams: ['two'] },
      explain: true,
      fetch: (input, init) => {
        urls.push(String(input))
        return provider.fetch(input, init)
      },
    })
    const { name } = (await (await createCache('ann')).json()) as { name: string }
    expect((await ask('ann', name)).status).toBe(200)
    expect((await count('ann', name, 'gem')).status).toBe(200)
    expect(urls).toHaveLength(3)
    expect(urls.every((url) => url.startsWith('http://two/'))).toBe(true)
    for (const rejected of [await ask('ann', name, 'other'), await count('ann', name, 'other')])
      expect([rejected.status, await rejected.text()]).toEqual([400, expect.stringContaining('cachedContent: ')])
    const explained = await ask('ann', name, 'gem', 'generateContent?modelgate=explain')
    const { plan } = (await explained.json()) as { plan: { upstream: string; refused?: { message: string } }[] }
    expect(plan.map(({ upstream, refused }) => [upstream, refused?.message])).toEqual([
      ['two', undefined],
      ['one', expect.stringContaining('cachedContent: ')],
    ])
    expect(urls).toHaveLength(3)
  })

  test('needs a model that the caller may use, and whose upstream stores such content', async () => {
    gateway = setUp({ auth: (token) => ({ id: token, models: ['gemini-pro', 'claude'] }) })
    for (const [model, status, text] of [
      ['models/gem', 404, "'gem'"],
      ['models/nope', 404, "'nope'"],
      ['claude', 400, "upstreams of the model 'claude'"],
      ['', 400, 'model: expected'],
    ] as const) {
      const response = await createCache('ann', content(model))
      expect([model, response.status, await response.text()]).toEqual([model, status, expect.stringContaining(text)])
    }
    expect(provider.requests).toHaveLength(0)
    expect((await createCache('ann', content('gemini-pro'))).status).toBe(200)
  })

  test('has no name that the client chooses, and refers only to files of its owner', async () => {
    expect((await createCache('ann', { ...content(), name: 'cachedContents/mine' })).status).toBe(400)
    const file = await createGoogleFile('bob')
    const fileData = { fileUri: `https://generativelanguage.googleapis.com/v1beta/files/${file}` }
    const before = provider.requests.length
    const foreign = await createCache('ann', { ...content(), contents: [{ role: 'user', parts: [{ fileData }] }] })
    expect(foreign.status).toBe(400)
    expect(provider.requests).toHaveLength(before)
  })

  test('is admitted and settled with its tokens', async () => {
    const events: unknown[] = []
    const plugin: Plugin = {
      name: 'watch',
      admit: ({ operation, model, targets, estimate }) => {
        events.push([operation, model, targets, estimate().output, estimate().input > 500])
        return undefined
      },
      onFinish: ({ operation, upstreamModel, usage, basis }) =>
        void events.push([operation, upstreamModel, usage, basis]),
    }
    gateway = setUp({ plugins: [plugin] })
    expect((await createCache('ann')).status).toBe(200)
    expect(events).toEqual([
      ['create-cache', 'gem', [{ upstream: 'google', model: 'gemini-flash' }], 0, true],
      [
        'create-cache',
        'gemini-flash',
        { input: { total: expect.any(Number), cacheWrite: expect.any(Number) }, output: { total: 0 } },
        'reported',
      ],
    ])
  })

  /** Collects the events of calls. `next` resolves with the next event. */
  const watchEvents = () => {
    const events: FinishEvent[] = []
    let notify = (_event: FinishEvent): void => {}
    const next = new Promise<FinishEvent>((resolve) => {
      notify = resolve
    })
    const plugin: Plugin = {
      name: 'watch',
      onFinish(event) {
        events.push(event)
        notify(event)
      },
    }
    return { events, next, plugin }
  }

  test('is completed, settled once and recorded for its owner if the client disconnects meanwhile', async () => {
    const { events, next, plugin } = watchEvents()
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let notify = (): void => {}
    const arrived = new Promise<void>((resolve) => {
      notify = resolve
    })
    gateway = setUp({
      plugins: [plugin],
      async fetch(input, init) {
        if (init?.method !== 'POST') return provider.fetch(input, init)
        notify()
        await Promise.race([
          held,
          new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(new Error('aborted')))),
        ])
        return provider.fetch(input, init)
      },
    })
    const leaving = new AbortController()
    const pending = gateway
      .fetch('http://gateway/v1beta/cachedContents', {
        method: 'POST',
        headers: { ...headersOf('gemini', 'ann'), 'content-type': 'application/json' },
        body: JSON.stringify(content()),
        signal: leaving.signal,
      })
      .catch(() => undefined)
    await arrived
    leaving.abort()
    release()
    await pending
    expect(await next).toMatchObject({
      operation: 'create-cache',
      basis: 'reported',
      usage: { input: { total: expect.any(Number), cacheWrite: expect.any(Number) } },
      attempts: [{ upstream: 'google', model: 'gemini-flash', status: 200 }],
    })
    expect(events).toHaveLength(1)
    const { cachedContents } = (await (await send('ann', 'GET', '/v1beta/cachedContents', 'gemini')).json()) as {
      cachedContents: object[]
    }
    expect(cachedContents).toHaveLength(1)
  })

  const broken = (): ReadableStream =>
    new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('{"name":'))
        controller.error(new Error('reset'))
      },
    })

  test.each<[string, typeof fetch, string]>([
    [
      'that does not begin in time',
      (_, init) =>
        new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))),
      'upstream_timeout',
    ],
    ['that is no JSON', async () => new Response('<html>'), 'upstream_bad_response'],
    ['without a name', async () => Response.json({ model: 'models/gemini-flash' }), 'upstream_bad_response'],
    ['that breaks off', async () => new Response(broken()), 'upstream_truncated'],
  ])('is charged for its input after a response %s', async (_, upstream, error) => {
    const { events, plugin } = watchEvents()
    gateway = setUp({ plugins: [plugin], fetch: upstream, limits: { firstByteMs: 50 } })
    expect((await createCache('ann')).status).toBeGreaterThanOrEqual(500)
    expect(events).toMatchObject([
      { outcome: 'failed', basis: 'partial', abandoned: true, attempts: [{ upstream: 'google', error }] },
    ])
    expect(events[0]?.usage?.input.total).toBeGreaterThan(500)
  })

  test('is not charged if its upstream rejects it, and is estimated if its upstream reports no tokens', async () => {
    const { events, plugin } = watchEvents()
    gateway = setUp({ plugins: [plugin] })
    const short = { ...content(), contents: [{ role: 'user', parts: [{ text: 'short' }] }] }
    expect((await createCache('ann', short)).status).toBe(400)
    gateway = setUp({ plugins: [plugin], fetch: async () => Response.json({ name: 'cachedContents/a', model: 'm' }) })
    expect((await createCache('ann')).status).toBe(200)
    const [rejected, silent] = events
    expect([rejected?.usage, rejected?.attempts]).toEqual([
      undefined,
      [expect.objectContaining({ status: 400, error: 'invalid_request' })],
    ])
    expect(silent).toMatchObject({ basis: 'estimated', attempts: [{ status: 200 }] })
    expect(silent?.usage?.input.total).toBeGreaterThan(500)
  })

  const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString()

  test.each<[object, string]>([
    [{ ttl: '7201s' }, "ttl: This gateway remembers the owner for 7200 seconds (objects.ttlMs). Send '7200s' or less."],
    [{ expireTime: inHours(3) }, 'expireTime: This gateway'],
    [{ expire_time: inHours(3) }, 'expire_time: This gateway'],
    [{ ttl: '10s', expireTime: inHours(3) }, "send only one of 'ttl' and 'expireTime'"],
    [{ ttl: '1e9s' }, 'ttl: write a number of seconds'],
    [{ ttl: 600 }, 'ttl: write a number of seconds'],
    [{ expireTime: 'soon' }, 'expireTime: write a time'],
  ])('does not live longer than the record of its owner: %j', async (lifetime, message) => {
    gateway = setUp({ objects: { ttlMs: 7_200_000 } })
    for (const accepted of [{}, { ttl: '7200s' }, { expireTime: inHours(1) }, { ttl: null }])
      expect((await createCache('ann', { ...content(), ...accepted })).status).toBe(200)
    const { name } = (await (await createCache('ann')).json()) as { name: string }
    const before = provider.requests.length
    for (const rejected of [
      await createCache('ann', { ...content(), ...lifetime }),
      await send('ann', 'PATCH', `/v1beta/${name}`, 'gemini', lifetime),
    ])
      expect([rejected.status, await rejected.text()]).toEqual([400, expect.stringContaining(message)])
    expect(provider.requests).toHaveLength(before)
  })

  test('has a lifetime that is sent once, and sent if the default is longer than the record of its owner', async () => {
    const twice = `${JSON.stringify({ ...content(), ttl: '9999999s' }).slice(0, -1)},"ttl":"10s"}`
    const raw = await gateway.fetch('http://gateway/v1beta/cachedContents', {
      method: 'POST',
      headers: { ...headersOf('gemini', 'ann'), 'content-type': 'application/json' },
      body: twice,
    })
    expect([raw.status, await raw.text()]).toEqual([400, expect.stringContaining('send it once')])
    gateway = setUp({ objects: { ttlMs: 600_000 } })
    const byDefault = await createCache('ann')
    expect([byDefault.status, await byDefault.text()]).toEqual([400, expect.stringContaining("Send '600s' or less")])
    expect((await createCache('ann', { ...content(), ttl: '600s' })).status).toBe(200)
  })

  test('stays in the list of its owner after its lifetime was prolonged', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      gateway = setUp({ objects: { ttlMs: 7_200_000 } })
      const { name } = (await (await createCache('ann', { ...content(), ttl: '7200s' })).json()) as { name: string }
      vi.setSystemTime(Date.now() + 3_600_000)
      expect((await send('ann', 'PATCH', `/v1beta/${name}`, 'gemini', { ttl: '7200s' })).status).toBe(200)
      vi.setSystemTime(Date.now() + 5_400_000)
      expect(await (await send('ann', 'GET', '/v1beta/cachedContents', 'gemini')).json()).toMatchObject({
        cachedContents: [{ name }],
      })
    } finally {
      vi.useRealTimers()
    }
  })

  test('does not count after its end', async () => {
    const store = memoryResponseStore()
    gateway = setUp({ responses: { store } })
    const fields = { model: 'gem', expireTime: new Date(Date.now() - dayMs).toISOString() }
    const ended = Array.from({ length: 5000 }, (_, at) => ({
      id: `cachedContents/old${at}`,
      upstream: 'google',
      createdAt: Date.now() - dayMs,
      fields,
    }))
    store.set('objects:ann:caches', JSON.stringify(ended), 2 * dayMs)
    expect((await createCache('ann')).status).toBe(200)
    expect(JSON.parse(String(store.get('objects:ann:caches')))).toHaveLength(1)
  })
})

describe('creating an object', () => {
  test('is rejected with the setting to change if owners are not stored', async () => {
    gateway = setUp({ auth: 'none', responses: {} })
    const response = await send('', 'POST', '/v1/files', 'chat', fileForm('chat'))
    expect(response.status).toBe(400)
    expect(await response.text()).toContain("can set 'responses.store', or set 'references.files' to 'pass'")
    expect(provider.requests).toHaveLength(0)
  })

  test("does not recommend 'pass' where the gateway has to store something about every new object", async () => {
    for (const references of [{}, { files: 'pass' as const }]) {
      gateway = setUp({ auth: 'none', responses: {}, references })
      const response = await startUpload('')
      const text = await response.text()
      expect([response.status, text]).toEqual([400, expect.stringContaining("can set 'responses.store'.")])
      expect(text).not.toContain("'pass'")
    }
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
