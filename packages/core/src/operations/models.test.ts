import { describe, expect, it } from 'vitest'
import { setUp } from '../gateway/create-gateway.test-support.ts'

const version = { 'anthropic-version': '2023-06-01' }
const google = { 'x-goog-api-key': 'good' }
const names = Array.from({ length: 25 }, (_, index) => `model-${String(index).padStart(2, '0')}`)
const many = { models: Object.fromEntries([...names, 'prefix-*'].map((name) => [name, 'a'])) }

function get(path: string, headers: Record<string, string> = {}, config: object = many) {
  const { gateway } = setUp({}, config)
  return gateway.fetch(new Request(`http://gw${path}`, { headers: { authorization: 'Bearer good', ...headers } }))
}
const json = async (path: string, headers: Record<string, string> = {}) => (await get(path, headers)).json()
const ids = ({ data }: { data: { id: string }[] }): string[] => data.map(({ id }) => id)

describe('the model list', () => {
  it('is returned whole to an OpenAI client, whatever page it requests', async () => {
    for (const query of ['', '?limit=3&after=model-02', '?limit=nonsense']) {
      const list = await json(`/v1/models${query}`)
      expect(list).toMatchObject({ object: 'list' })
      expect(ids(list)).toEqual(names)
    }
  })

  it('is paginated by ids for a client with the version header', async () => {
    const list = await json('/v1/models', version)
    expect(ids(list)).toEqual(names.slice(0, 20))
    expect(list).toMatchObject({ has_more: true, first_id: 'model-00', last_id: 'model-19' })
    expect(list.data[0]).toEqual({
      type: 'model',
      id: 'model-00',
      display_name: 'model-00',
      created_at: '1970-01-01T00:00:00Z',
      capabilities: null,
      max_input_tokens: null,
      max_tokens: null,
    })
  })

  it.each([
    ['limit=1000', 0, 25, false],
    ['limit=10&after_id=model-04', 5, 15, true],
    ['limit=10&after_id=model-20', 21, 25, false],
    ['after_id=model-24', 25, 25, false],
    ['limit=10&before_id=model-20', 10, 20, true],
    ['limit=10&before_id=model-04', 0, 4, false],
    ['limit=10&before_id=model-10', 0, 10, false],
    ['before_id=model-00', 0, 0, false],
  ])('returns the page that ?%s requests', async (query, start, end, more) => {
    const list = await json(`/v1/models?${query}`, version)
    const page = names.slice(start, end)
    expect(ids(list)).toEqual(page)
    expect(list).toMatchObject({ has_more: more, first_id: page[0] ?? null, last_id: page.at(-1) ?? null })
  })

  it.each([
    ['limit=0', 'limit: Input should be greater than or equal to 1'],
    ['limit=1001', 'limit: Input should be less than or equal to 1000'],
    ['limit=ten', 'limit: Input should be a valid integer'],
    ['limit=', 'limit: Input should be a valid integer'],
    ['limit=1.5', 'limit: Input should be a valid integer'],
    ['after_id=nobody', 'after_id'],
    ['after_id=model-01&before_id=model-05', 'before_id'],
  ])('rejects ?%s', async (query, message) => {
    const response = await get(`/v1/models?${query}`, version)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining(message) },
    })
  })

  it.each(['/v1/models', '/v1beta/models'])('is paginated by token for Google’s clients at %s', async (path) => {
    const first = await json(`${path}?pageSize=10`, google)
    const second = await json(`${path}?pageSize=10&pageToken=${first.nextPageToken}`, google)
    const last = await json(`${path}?page_size=10&page_token=${second.nextPageToken}`, google)
    expect(last).not.toHaveProperty('nextPageToken')
    const found = [first, second, last].flatMap(({ models }) => models.map(({ name }: { name: string }) => name))
    expect(found).toEqual(names.map((name) => `models/${name}`))
    expect(first.models[0].supportedGenerationMethods).toEqual([
      'generateContent',
      'streamGenerateContent',
      'countTokens',
    ])
  })

  it.each([
    ['', 25],
    ['pageSize=0', 25],
    ['pageSize=5000', 25],
    ['pageSize=25', 25],
    ['pageSize=24', 24],
  ])('returns for ?%s %i models to Google’s clients', async (query, length) => {
    const { models, nextPageToken } = await json(`/v1beta/models?${query}`, google)
    expect(models).toHaveLength(length)
    expect(nextPageToken === undefined).toBe(length === 25)
  })

  it.each(['pageSize=-1', 'pageSize=x', 'pageToken=nobody'])('rejects ?%s from Google’s clients', async (query) => {
    const response = await get(`/v1beta/models?${query}`, google)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } })
  })
})

it('returns only models that the caller may use', async () => {
  const { gateway } = setUp({}, { ...many, auth: () => ({ id: 'x', models: ['model-1*'] }) })
  const response = await gateway.fetch('http://gw/v1/models?limit=5', { headers: { 'x-api-key': 'k', ...version } })
  const list = await response.json()
  expect(ids(list)).toEqual(names.slice(10, 15))
  expect(list.has_more).toBe(true)
})

describe('one model', () => {
  it.each([
    ['/v1/models/model-03', {}, { id: 'model-03', object: 'model' }],
    ['/v1/models/model-03', version, { type: 'model', id: 'model-03' }],
    ['/v1/models/model-03', google, { name: 'models/model-03' }],
    ['/v1beta/models/model-03', google, { name: 'models/model-03', supportedGenerationMethods: expect.any(Array) }],
    ['/v1beta/models/prefix-x%2Fy', google, { name: 'models/prefix-x/y' }],
  ])('is returned at %s with the headers %j', async (path, headers, entry) => {
    expect(await json(path, headers as Record<string, string>)).toMatchObject(entry)
  })

  it('that is unknown results in 404 in the client’s dialect', async () => {
    const response = await get('/v1beta/models/nobody', google)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 404, status: 'NOT_FOUND' } })
  })
})
