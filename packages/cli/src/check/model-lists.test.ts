import * as core from '@modelgate/core'
import { createExample, providerCatalog } from '@modelgate/core/catalog'
import { describe, expect, it } from 'vitest'
import { modelListOf } from './model-lists.ts'

const urlOf = (upstream: core.Upstream, after?: string): string => {
  const list = modelListOf(upstream)
  return typeof list === 'string' ? list : list.url(after)
}

/** Providers with a list below another path, or with none: see the rows of their own. */
const otherLists = ['anthropic', 'gemini', 'deepseek', 'perplexity', 'openrouter', 'cohere', 'voyage', 'jina']
const plain = Object.entries(providerCatalog).filter(
  ([name, { example }]) => example === undefined && !otherLists.includes(name),
)

describe('the address of the list', () => {
  it.each(plain)('of %s is below its base URL', (_, entry) => {
    const upstream = createExample(entry)
    expect(urlOf(upstream)).toBe(`${upstream.baseURL}/models`)
  })

  it.each([
    ['responses alone', core.openai({ formats: ['responses'] }), 'https://api.openai.com/v1/models'],
    ['anthropic', core.anthropic(), 'https://api.anthropic.com/v1/models?limit=1000'],
    ['gemini', core.gemini(), 'https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000'],
    ['deepseek', core.deepseek(), 'https://api.deepseek.com/models'],
    ['openrouter, whose own list needs no key', core.openrouter(), 'https://openrouter.ai/api/v1/models/user'],
    ['cohere', core.cohere(), 'https://api.cohere.com/v1/models?page_size=1000'],
    ['vllm', core.vllm({ formats: ['messages'] }), 'http://localhost:8000/v1/models?limit=1000'],
    ['any server', core.openaiCompatible({ baseURL: 'http://h/x/v1' }), 'http://h/x/v1/models'],
    ['azure', core.azure({ resource: 'r', apiKey: 'k' }), 'https://r.openai.azure.com/openai/v1/models'],
    [
      'azure by deployments',
      core.azure({ resource: 'r', apiKey: 'k', apiVersion: '2024-10-21' }),
      'https://r.openai.azure.com/openai/models?api-version=2024-10-21',
    ],
    ['bedrock', core.bedrock({ region: 'eu-west-1' }), 'https://bedrock.eu-west-1.amazonaws.com/foundation-models'],
    [
      'bedrock in China',
      core.bedrock({ region: 'cn-north-1' }),
      'https://bedrock.cn-north-1.amazonaws.com.cn/foundation-models',
    ],
    [
      'bedrockMantle',
      core.bedrockMantle({ region: 'us-east-1' }),
      'https://bedrock-mantle.us-east-1.api.aws/v1/models',
    ],
    [
      'vertex',
      core.vertex({ project: 'p', location: 'eu', token: () => 't' }),
      'https://aiplatform.eu.rep.googleapis.com/v1beta1/publishers/google/models?pageSize=200',
    ],
    ['of Perplexity does not exist', core.perplexity(), 'Perplexity has no list of models'],
    ['of Voyage does not exist', core.voyage(), 'no list of models'],
    ['of Jina does not exist', core.jina(), 'no list of models'],
    [
      "of Azure's inference API does not exist",
      core.azure({ resource: 'r', apiKey: 'k', api: 'inference' }),
      "Azure's inference API has no list of models",
    ],
    [
      'of Claude on Azure does not exist',
      core.azure({ resource: 'r', apiKey: 'k', formats: ['messages'] }),
      'Claude on Azure has no list of models',
    ],
    [
      'of Bedrock behind another host is unknown',
      core.bedrock({ region: 'us-east-1', baseURL: 'https://proxy' }),
      'the management host that lists Bedrock models is unknown for this address',
    ],
  ])('%s', (_, upstream, expected) => {
    expect(urlOf(upstream)).toBe(expected)
  })

  it('of Vertex AI comes with the project whose quota applies', () => {
    const list = modelListOf(core.vertex({ project: 'mine', token: () => 't' }))
    expect(list).toMatchObject({ headers: { 'x-goog-user-project': 'mine' }, incomparableReason: expect.any(String) })
  })
})

describe('the names on a page', () => {
  const pages: [string, core.Upstream, unknown, unknown][] = [
    ['openai', core.openai(), { data: [{ id: 'a' }, { id: 'b' }, {}] }, { names: ['a', 'b'] }],
    ['a bare list', core.together(), [{ id: 'a' }], { names: ['a'] }],
    ['anthropic', core.anthropic(), { data: [{ id: 'a' }], has_more: true, last_id: 'a' }, { names: ['a'], next: 'a' }],
    [
      'the last of anthropic',
      core.anthropic(),
      { data: [{ id: 'a' }], has_more: false, last_id: 'a' },
      { names: ['a'] },
    ],
    ['gemini', core.gemini(), { models: [{ name: 'models/a' }], nextPageToken: 'n' }, { names: ['a'], next: 'n' }],
    ['cohere', core.cohere(), { models: [{ name: 'a' }], next_page_token: '' }, { names: ['a'] }],
    ['bedrock', core.bedrock({ region: 'us-east-1' }), { modelSummaries: [{ modelId: 'a' }] }, { names: ['a'] }],
    [
      'vertex',
      core.vertex({ project: 'p', token: () => 't' }),
      { publisherModels: [{ name: 'publishers/google/models/a' }] },
      { names: ['a'] },
    ],
  ]
  it.each(pages)('%s', (_, upstream, page, expected) => {
    const list = modelListOf(upstream)
    if (typeof list === 'string') throw new Error(list)
    expect(list.read(page)).toEqual(expected)
    for (const other of [{}, null, 'text', { data: 5 }, { models: {} }]) expect(list.read(other)).toBeUndefined()
  })

  it('are followed by a request for the next page', () => {
    expect(urlOf(core.anthropic(), 'x y')).toContain('limit=1000&after_id=x+y')
    expect(urlOf(core.gemini(), 't')).toContain('pageSize=1000&pageToken=t')
    expect(urlOf(core.cohere(), 't')).toContain('page_token=t')
  })

  it('of Bedrock have no region prefix', () => {
    const list = modelListOf(core.bedrock({ region: 'us-east-1' }))
    if (typeof list === 'string') throw new Error(list)
    expect(list.toListedName?.('us.anthropic.claude-x')).toBe('anthropic.claude-x')
    expect(list.toListedName?.('anthropic.claude-x')).toBe('anthropic.claude-x')
  })
})
