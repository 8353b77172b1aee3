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
      deprecated_at: null,
      lifecycle: 'active',
      line: null,
      max_input_tokens: null,
      max_tokens: null,
      retires_at: null,
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

describe('the facts of a model', () => {
  const card = {
    name: 'House model',
    contextWindow: 200_000,
    maxInput: 180_000,
    maxOutput: 20_000,
    modalities: { input: ['text', 'image', 'document'], output: ['text'] },
    capabilities: { tools: true, structuredOutputs: true, efforts: ['none', 'low', 'high'] },
    prices: { input: 2.5, output: 10, cachedInput: 0.1, cacheWrite: 3.125, request: 0.01 },
  }
  const known = {
    models: { house: { upstream: 'a', model: 'secret-name', card }, bare: { upstream: 'a', model: 'x' } },
  }
  const entry = async (headers: Record<string, string>, config: object = known) =>
    (await get('/v1/models/house', headers, config)).json()

  it('are listed for OpenAI clients in the fields of OpenRouter and others', async () =>
    expect(await entry({})).toEqual({
      id: 'house',
      object: 'model',
      created: expect.any(Number),
      owned_by: 'modelgate',
      name: 'House model',
      context_length: 200_000,
      context_window: 200_000,
      max_input_tokens: 180_000,
      max_output_tokens: 20_000,
      top_provider: { context_length: 200_000, max_completion_tokens: 20_000 },
      architecture: {
        modality: 'text+image+file->text',
        input_modalities: ['text', 'image', 'file'],
        output_modalities: ['text'],
      },
      supported_parameters: [
        'max_tokens',
        'tools',
        'tool_choice',
        'response_format',
        'structured_outputs',
        'reasoning',
        'include_reasoning',
        'reasoning_effort',
      ],
      supported_reasoning_efforts: ['none', 'low', 'high'],
      pricing: {
        prompt: '0.0000025',
        completion: '0.00001',
        input_cache_read: '0.0000001',
        input_cache_write: '0.000003125',
        request: '0.01',
      },
    }))

  it('are listed for Anthropic clients with capabilities', async () => {
    const listed = await entry(version)
    expect(listed).toMatchObject({ display_name: 'House model', max_input_tokens: 180_000, max_tokens: 20_000 })
    const supported = (value: boolean) => ({ supported: value })
    expect(listed.capabilities).toMatchObject({
      batch: supported(false),
      image_input: supported(true),
      pdf_input: supported(true),
      structured_outputs: supported(true),
      effort: {
        supported: true,
        low: supported(true),
        medium: supported(false),
        high: supported(true),
        xhigh: supported(false),
        max: supported(false),
      },
      thinking: {
        supported: true,
        types: {
          adaptive: supported(true),
          between_tools: supported(false),
          disabled: supported(true),
          enabled: supported(true),
        },
      },
    })
  })

  it.each<[string, object, object]>([
    [
      'a model that always thinks with an effort',
      { efforts: ['low'], reasoningBudget: false },
      { adaptive: true, disabled: false, enabled: false },
    ],
    [
      'a model with a budget',
      { reasoning: true, reasoningBudget: true },
      { adaptive: false, disabled: true, enabled: true },
    ],
    ['a model that does not think', { reasoning: false }, { adaptive: false, disabled: true, enabled: false }],
  ])('list the thinking types of %s for Anthropic clients', async (_, capabilities, types) => {
    const house = {
      upstream: 'm',
      model: 'x',
      card: { ...card, capabilities: { structuredOutputs: true, ...capabilities } },
    }
    const { thinking } = (await entry(version, { models: { house } })).capabilities
    const listed = Object.entries(thinking.types as Record<string, { supported: boolean }>)
    expect(Object.fromEntries(listed.map(([name, { supported }]) => [name, supported]))).toEqual({
      ...types,
      between_tools: false,
    })
  })

  it('are listed for Google’s clients', async () =>
    expect(await entry(google)).toMatchObject({
      displayName: 'House model',
      inputTokenLimit: 180_000,
      outputTokenLimit: 20_000,
      thinking: true,
    }))

  it('are absent or null if they are unknown', async () => {
    const path = '/v1/models/bare'
    expect(Object.keys(await (await get(path, {}, known)).json())).toEqual(['id', 'object', 'created', 'owned_by'])
    expect(await (await get(path, version, known)).json()).toMatchObject({ capabilities: null, max_tokens: null })
    const listed = await (await get(path, google, known)).json()
    for (const field of ['inputTokenLimit', 'outputTokenLimit', 'thinking']) expect(listed).not.toHaveProperty(field)
  })

  it.each([
    ['{}', {}],
    ['the version header', version],
    ['Google’s header', google],
  ])('name no upstream and no model of it with %s', async (_, headers) =>
    expect(JSON.stringify(await entry(headers as Record<string, string>))).not.toContain('secret-name'),
  )

  const priceless = { house: { upstream: 'a', model: 'gpt-5' } }
  const plugin = { name: 'prices', priceOf: () => ({ currency: 'USD', input: 1, output: 2 }) }
  it.each<[string, object, object | undefined]>([
    ['the table', { models: priceless }, undefined],
    ['a plugin', { models: priceless, plugins: [plugin] }, undefined],
    [
      'the table, if enabled',
      { models: priceless, modelCards: { prices: true } },
      { prompt: '0.00000125', completion: '0.00001', input_cache_read: '0.000000125' },
    ],
    [
      'a plugin, if enabled',
      { models: priceless, plugins: [plugin], modelCards: { prices: true } },
      { prompt: '0.000001', completion: '0.000002' },
    ],
    [
      'a card in another currency',
      { models: { house: { upstream: 'a', card: { prices: { currency: 'EUR', input: 1, output: 2 } } } } },
      undefined,
    ],
    [
      'targets, the highest of each kind',
      {
        models: {
          house: [
            { upstream: 'a', model: 'x', card: { prices: { input: 1, output: 9, cachedInput: 0.5 } } },
            { upstream: 'b', model: 'x', card: { prices: { input: 3, output: 2 } } },
          ],
        },
      },
      { prompt: '0.000003', completion: '0.000009' },
    ],
  ])('have the prices of %s', async (_, config, pricing) => expect((await entry({}, config)).pricing).toEqual(pricing))

  it('are complete for OpenRouter’s client, also if they are unknown', async () => {
    const list = await (await get('/api/v1/models', {}, known)).json()
    expect(list).toMatchObject({ object: 'list', links: { next: null }, total_count: 2 })
    const [house, bare] = list.data
    expect(bare).toEqual({
      id: 'bare',
      object: 'model',
      created: expect.any(Number),
      owned_by: 'modelgate',
      canonical_slug: 'bare',
      name: 'bare',
      context_length: null,
      architecture: { modality: null, input_modalities: [], output_modalities: [] },
      pricing: { prompt: '-1', completion: '-1' },
      supported_parameters: [],
      default_parameters: null,
      per_request_limits: null,
      supported_voices: null,
      links: { details: '/api/v1/models/bare' },
      top_provider: { is_moderated: false },
    })
    expect(house).toMatchObject({
      name: 'House model',
      context_length: 200_000,
      top_provider: { is_moderated: false, context_length: 200_000, max_completion_tokens: 20_000 },
      pricing: { prompt: '0.0000025' },
    })
    expect(await (await get('/api/v1/models/bare', {}, known)).json()).toEqual(bare)
    // Anthropic's clients use the same path.
    expect((await (await get('/api/v1/models', version, known)).json()).data[0]).not.toHaveProperty('top_provider')
  })

  it('describe only models of the page', async () => {
    let asked = 0
    const counting = { name: 'prices', priceOf: () => void asked++ }
    await get('/v1/models?limit=3', version, { ...many, plugins: [counting], modelCards: { prices: true } })
    expect(asked).toBe(3)
  })
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
