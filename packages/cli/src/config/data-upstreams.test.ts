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
  '%s is the same upstream from JSON as from its factory',
  (provider, { create }) => {
    const options = { apiKey: 'key', headers: { 'x-team': 'blue' }, ...needed[provider] }
    const { one } = dataUpstreams({ one: { provider, ...options } })
    expect(JSON.stringify(one)).toBe(JSON.stringify(create(options as never)))
  },
)

it('puts rules for models before the built-in ones', () => {
  const { openai } = dataUpstreams({
    openai: { provider: 'openai', modelRules: [{ model: 'my-deployment', like: 'gpt-5.6' }] },
  })
  expect(openai?.modelRules?.[0]).toEqual({ model: 'my-deployment', like: 'gpt-5.6' })
  expect(openai?.modelRules?.length).toBeGreaterThan(10)
  expect(() => dataUpstreams({ a: { provider: 'openai', modelRules: {} } })).toThrow(
    'upstreams.a.modelRules is an object: write a list of objects',
  )
})

it('takes several keys, and lays quirks over those of the maker', () => {
  const { groq } = dataUpstreams({
    groq: { provider: 'groq', apiKey: ['a', { key: 'b', weight: 3 }], quirks: { efforts: ['low'] } },
  })
  expect(groq?.keys).toHaveLength(2)
  expect(groq?.quirks).toMatchObject({ efforts: ['low'], reasoningField: 'reasoning' })
})

it.each([
  [[], 'upstreams is a list: write an object'],
  [{ a: 'openai' }, 'upstreams.a is a string: write { "provider"'],
  [{ a: { apiKey: 'k' } }, 'upstreams.a has no provider: write one of openai, anthropic'],
  [{ a: { provider: 'antropic' } }, "upstreams.a.provider is 'antropic': did you mean 'anthropic'?"],
  [{ a: { provider: 'constructor' } }, "upstreams.a.provider is 'constructor': there are openai"],
  [
    { a: { provider: 'openai', apikey: 'k' } },
    "upstreams.a.apikey is nothing that 'openai' takes: did you mean 'apiKey'?",
  ],
  [{ a: { provider: 'openai', apiKey: 5 } }, 'upstreams.a.apiKey is a number: write the key in quotes'],
  [{ a: { provider: 'openai', apiKey: '' } }, 'upstreams.a.apiKey is empty'],
  [
    { a: { provider: 'openai', formats: ['messages'] } },
    'upstreams.a.formats is a list: write a list of some of "chat", "responses"',
  ],
  [{ a: { provider: 'openai', baseURL: 'localhost:1' } }, "upstreams.a.baseURL 'localhost:1' must start with http"],
  [
    { a: { provider: 'azure', resource: 'r', api: 'v2' } },
    'upstreams.a.api is a string: write one of "v1", "deployments"',
  ],
  [{ a: { provider: 'bedrock' } }, "upstreams.a has no region: 'bedrock' needs one"],
  [{ a: { provider: 'openaiCompatible' } }, 'upstreams.a has no baseURL'],
  [
    { a: { provider: 'openaiCompatible', baseURL: 'http://x', realtime: 'yes' } },
    'upstreams.a.realtime is a string: write true or false',
  ],
  [{ a: { provider: 'openai', quirks: [] } }, 'upstreams.a.quirks is a list: write an object'],
])('%j is told what to write', (data, words) => {
  expect(() => dataUpstreams(data)).toThrow(words)
})
