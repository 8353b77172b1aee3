import {
  createGateway,
  type FinishEvent,
  type Gateway,
  type GatewayConfig,
  memoryResponseStore,
  openai,
} from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { beforeEach, describe, expect, test } from 'vitest'

const provider = createFakeProvider({ models: ['gpt-real', 'gpt-mini'] })
const finished: FinishEvent[] = []

const setUp = (config: Partial<GatewayConfig> = {}): Gateway =>
  createGateway({
    auth: (token) => ({ id: token }),
    upstreams: {
      one: openai({ apiKey: 'k', baseURL: 'http://one/v1' }),
      two: openai({ apiKey: 'k', baseURL: 'http://two/v1' }),
    },
    models: {
      'gpt-real': 'one',
      'gpt-mini': { upstream: 'one', overrides: { temperature: 0 } },
      alias: { upstream: 'one', model: 'gpt-real' },
      elsewhere: { upstream: 'two', model: 'gpt-real' },
    },
    objects: { upstreams: ['one'] },
    responses: { store: memoryResponseStore() },
    fetch: provider.fetch,
    plugins: [{ name: 'watch', onFinish: (event) => void finished.push(event) }],
    logger: false,
    ...config,
  } as GatewayConfig)

let gateway: Gateway

beforeEach(() => {
  provider.reset()
  finished.length = 0
  gateway = setUp()
})

const send = (token: string, method: string, path: string, body?: object): Promise<Response> =>
  gateway.fetch(`http://gateway${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

const chat = '/v1/chat/completions'
const line = (custom_id: string, body: object = {}, more: object = {}): string =>
  JSON.stringify({
    custom_id,
    method: 'POST',
    url: chat,
    body: { model: 'gpt-real', max_tokens: 50, messages: [{ role: 'user', content: `Say ${custom_id}` }], ...body },
    ...more,
  })

const upload = async (token: string, ...lines: string[]): Promise<string> => {
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new File([lines.join('\n')], 'in.jsonl', { type: 'application/jsonl' }))
  const headers = { authorization: `Bearer ${token}` }
  const response = await gateway.fetch('http://gateway/v1/files', { method: 'POST', headers, body: form })
  return ((await response.json()) as { id: string }).id
}

const create = (token: string, input_file_id: string, more: object = {}): Promise<Response> =>
  send(token, 'POST', '/v1/batches', { input_file_id, endpoint: chat, completion_window: '24h', ...more })

interface Batch {
  readonly id: string
  readonly status: string
  readonly output_file_id: string
  readonly error_file_id: string | null
}

const retrieve = async (token: string, id: string): Promise<Batch> =>
  (await (await send(token, 'GET', `/v1/batches/${id}`)).json()) as Batch

const batchEvents = () => finished.filter(({ operation }) => operation === 'batch')

/** Creates a batch and retrieves it until it is completed. */
const complete = async (token: string, ...lines: string[]): Promise<Batch> => {
  const { id } = (await (await create(token, await upload(token, ...lines))).json()) as Batch
  await retrieve(token, id)
  return retrieve(token, id)
}

describe("a batch of OpenAI's API", () => {
  test('shows its results to its owner only', async () => {
    const batch = await complete('ann', line('a'), line('b', { n: -1 }))
    expect(batch.status).toBe('completed')
    const contents = await Promise.all(
      [batch.output_file_id, batch.error_file_id].map(async (id) => {
        expect((await send('bob', 'GET', `/v1/files/${id}/content`)).status).toBe(404)
        return (await send('ann', 'GET', `/v1/files/${id}/content`)).text()
      }),
    )
    expect(contents.map((text) => JSON.parse(text).custom_id)).toEqual(['a', 'b'])
    const { data } = (await (await send('ann', 'GET', '/v1/files?purpose=batch_output')).json()) as { data: Batch[] }
    expect(data).toHaveLength(2)
  })

  test("needs a file of its caller, and one of the file's upstream", async () => {
    const file = await upload('ann', line('a'))
    const before = provider.requests.length
    expect((await create('bob', file)).status).toBe(400)
    expect((await create('ann', `${file}x`)).status).toBe(400)
    const twice = `{"input_file_id":"file-of-bob","input_file_id":"${file}","endpoint":"${chat}"}`
    const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' }
    const ambiguous = await gateway.fetch('http://gateway/v1/batches', { method: 'POST', headers, body: twice })
    expect(ambiguous.status).toBe(400)
    expect(provider.requests).toHaveLength(before)
  })

  test.each([
    ['an unknown model', [line('a'), line('b', { model: 'nope' })], 404, 'line 2'],
    ['an alias of a model', [line('a', { model: 'alias' })], 400, "is called 'gpt-real' at its upstream"],
    ['a model of another upstream', [line('a', { model: 'elsewhere' })], 400, 'does not serve'],
    ['settings of the target', [line('a', { model: 'gpt-mini' })], 400, 'configured settings'],
    ['another URL', [line('a', {}, { url: '/v1/responses' })], 400, 'url: '],
    [
      'a second body',
      [line('a').replace(/\}$/, ',"body":{"model":"gpt-mini"}}')],
      400,
      'body: expected this member once',
    ],
    ['a second model', [line('a').replace('"max_tokens"', '"model":"gpt-real","max_tokens"')], 400, 'model'],
    ['no JSON', ['{'], 400, 'line 1'],
    ['no requests', [''], 400, 'has no requests'],
    [
      "another caller's file",
      [line('a', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-bob' } }] }] })],
      400,
      'line 1',
    ],
  ])('whose file has %s is rejected with its place', async (_, lines, status, text) => {
    const file = await upload('ann', ...lines)
    const response = await create('ann', file)
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(text)])
    expect(provider.requests.some(({ method, path }) => method === 'POST' && path === '/v1/batches')).toBe(false)
  })

  test('names only models that the caller may use', async () => {
    gateway = setUp({ auth: (token) => ({ id: token, models: ['gpt-mini'] }) })
    const response = await create('ann', await upload('ann', line('a')))
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("'gpt-real'")])
  })

  test('is settled once with the usage in its results, for two calls at the same time', async () => {
    const { id } = (await (await create('ann', await upload('ann', line('a'), line('b')))).json()) as Batch
    await retrieve('ann', id)
    expect(batchEvents()).toEqual([])
    const [batch] = await Promise.all([retrieve('ann', id), retrieve('ann', id)])
    await retrieve('ann', id)
    const text = await (await send('ann', 'GET', `/v1/files/${batch.output_file_id}/content`)).text()
    const tokens = text
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one).response.body.usage.completion_tokens)
      .reduce((sum, count) => sum + count, 0)
    expect(
      batchEvents().map(({ model, upstream, tier, usage }) => [model, upstream, tier, usage?.output.total]),
    ).toEqual([['gpt-real', 'one', 'batch', tokens]])
  })

  test('is settled by a list that shows its results', async () => {
    const { id } = (await (await create('ann', await upload('ann', line('a')))).json()) as Batch
    await retrieve('ann', id)
    await send('ann', 'GET', '/v1/batches')
    expect(batchEvents()).toHaveLength(1)
  })

  test('is settled with the usage that the batch reports', async () => {
    const usage = {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 100 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 1050,
    }
    gateway = setUp({
      fetch: async (input, init) => {
        const response = await provider.fetch(input, init)
        if (!String(input).includes('/batches/')) return response
        return Response.json({ ...((await response.json()) as object), usage })
      },
    })
    await complete('ann', line('a'), line('b'))
    expect(
      batchEvents().map(({ usage: summed, runs }) => [summed?.input, summed?.output, runs?.[0]?.largestInput]),
    ).toEqual([[{ total: 1000, cacheRead: 100 }, { total: 50, reasoning: 20 }, 500]])
  })

  test('that is cancelled is settled without tokens', async () => {
    const { id } = (await (await create('ann', await upload('ann', line('a')))).json()) as Batch
    expect((await send('bob', 'POST', `/v1/batches/${id}/cancel`)).status).toBe(404)
    expect((await send('ann', 'POST', `/v1/batches/${id}/cancel`)).status).toBe(200)
    expect((await retrieve('ann', id)).status).toBe('cancelled')
    expect(batchEvents().map(({ usage }) => usage?.output.total)).toEqual([0])
  })

  test('is rejected if its requests exceed a budget', async () => {
    const prices = { models: { 'gpt-real': { input: 10, output: 20 } } }
    const tokens = createTokens({ storage: memoryStorage(), prices, logger: false })
    gateway = setUp({ auth: tokens.authenticate })
    const { secret, id } = await tokens.issue({ budget: { money: 0.01, period: 'day' } })
    const lines = Array.from({ length: 20 }, (_, at) => line(`r${at}`, { max_tokens: 1000 }))
    expect((await create(secret, await upload(secret, ...lines))).status).toBe(429)
    expect((await create(secret, await upload(secret, line('a')))).status).toBe(200)
    expect((await tokens.usage(id)).budgets[0]?.used).toBeGreaterThan(0)
  })
})
