import { providerCatalog } from '@modelgate/core/catalog'
import { expect, it } from 'vitest'
import { dataUpstreams } from './data-upstreams.ts'

/** Options that some providers require. */
const needed: Record<string, object> = {
  azure: { resource: 'mine' },
  vertex: { project: 'mine' },
  bedrock: { region: 'us-east-1' },
  bedrockMantle: { region: 'us-east-1' },
  openaiCompatible: { baseURL: 'https://host/v1' },
}

it.each(Object.entries(providerCatalog))(
  'creates the same upstream of %s from JSON as its factory',
  (provider, { create }) => {
    const options = { apiKey: 'key', headers: { 'x-team': 'blue' }, ...needed[provider] }
    const { one } = dataUpstreams({ one: { provider, ...options } })
    expect(JSON.stringify(one)).toBe(JSON.stringify(create(options as never)))
  },
)

it('puts configured model rules before the built-in ones', () => {
  const { openai } = dataUpstreams({
    openai: { provider: 'openai', modelRules: [{ model: 'my-deployment', like: 'gpt-5.6' }] },
  })
  expect(openai?.modelRules?.[0]).toEqual({ model: 'my-deployment', like: 'gpt-5.6' })
  expect(openai?.modelRules?.length).toBeGreaterThan(10)
  expect(() => dataUpstreams({ a: { provider: 'openai', modelRules: {} } })).toThrow(
    'upstreams.a.modelRules is an object: expected a list of objects',
  )
})

it('accepts several keys, and overrides quirks of the factory', () => {
  const { groq } = dataUpstreams({
    groq: { provider: 'groq', apiKey: ['a', { key: 'b', weight: 3 }], quirks: { efforts: ['low'] } },
  })
  expect(groq?.keys).toHaveLength(2)
  expect(groq?.quirks).toMatchObject({ efforts: ['low'], reasoningField: 'reasoning' })
})

it.each([
  [[], 'upstreams is a list: expected an object'],
  [{ a: 'openai' }, 'upstreams.a is a string: expected { "provider"'],
  [{ a: { apiKey: 'k' } }, 'upstreams.a.provider is missing. Valid: openai, anthropic'],
  [
    { a: { provider: 'antropic' } },
    "upstreams.a.provider is 'antropic', which is not a provider. Did you mean 'anthropic'?",
  ],
  [{ a: { provider: 'constructor' } }, "upstreams.a.provider is 'constructor', which is not a provider. Valid: openai"],
  [{ a: { provider: 'openai', apikey: 'k' } }, "'openai' has no option upstreams.a.apikey. Did you mean 'apiKey'?"],
  [{ a: { provider: 'openai', apiKey: 5 } }, 'upstreams.a.apiKey is a number: expected a key or a list of keys'],
  [{ a: { provider: 'openai', apiKey: '' } }, 'upstreams.a.apiKey is empty'],
  [
    { a: { provider: 'openai', formats: ['messages'] } },
    'upstreams.a.formats is a list: expected a list of some of "chat", "responses"',
  ],
  [{ a: { provider: 'openai', baseURL: 'localhost:1' } }, "upstreams.a.baseURL 'localhost:1' must start with http"],
  [
    { a: { provider: 'azure', resource: 'r', api: 'v2' } },
    'upstreams.a.api is a string: expected one of "v1", "deployments"',
  ],
  [{ a: { provider: 'bedrock' } }, "upstreams.a.region is missing: 'bedrock' requires it"],
  [{ a: { provider: 'openaiCompatible' } }, 'upstreams.a.baseURL is missing'],
  [
    { a: { provider: 'openaiCompatible', baseURL: 'http://x', realtime: 'yes' } },
    'upstreams.a.realtime is a string: expected true or false',
  ],
  [{ a: { provider: 'openai', quirks: [] } }, 'upstreams.a.quirks is a list: expected an object'],
])('rejects %j with the expected value', (data, words) => {
  expect(() => dataUpstreams(data)).toThrow(words)
})
