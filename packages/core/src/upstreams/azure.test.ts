import { describe, expect, it } from 'vitest'
import { type AzureOptions, azure } from './azure.ts'
import { callUrl } from './outgoing-call.ts'
import type { Upstream } from './upstream.ts'

const chatUrl = (upstream: Upstream, model = 'gpt-4o'): string =>
  callUrl(upstream, upstream.formats.chat as string, undefined, model)

const host = 'https://res.openai.azure.com'
const foundry = 'https://res.services.ai.azure.com'
const apiKey = 'key-canary-1'

describe('azure', () => {
  it.each<[AzureOptions, string]>([
    [{ resource: 'res', apiKey }, `${host}/openai/v1/chat/completions`],
    [{ resource: 'res', apiKey, apiVersion: 'preview' }, `${host}/openai/v1/chat/completions?api-version=preview`],
    [
      { resource: 'res', apiKey, apiVersion: '2024-10-21' },
      `${host}/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21`,
    ],
    [
      { resource: 'res', apiKey, api: 'deployments' },
      `${host}/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21`,
    ],
    [
      { resource: 'res', apiKey, api: 'inference' },
      `${foundry}/models/chat/completions?api-version=2024-05-01-preview`,
    ],
    [{ baseURL: `${foundry}/`, apiKey }, `${foundry}/openai/v1/chat/completions`],
    [{ baseURL: `${host}/openai/v1/`, apiKey }, `${host}/openai/v1/chat/completions`],
    [
      { baseURL: `${host}/openai`, apiKey, apiVersion: '2025-04-01-preview' },
      `${host}/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview`,
    ],
    [
      { baseURL: `${foundry}/models`, apiKey, api: 'inference', apiVersion: '2025-04-01' },
      `${foundry}/models/chat/completions?api-version=2025-04-01`,
    ],
    [
      { baseURL: `${foundry}/api/projects/mine/openai/v1`, apiKey },
      `${foundry}/api/projects/mine/openai/v1/chat/completions`,
    ],
  ])('builds from %j the URL %s', (options, url) => {
    expect(chatUrl(azure(options))).toBe(url)
  })

  it('encodes a deployment as one path segment', () => {
    const upstream = azure({ resource: 'res', apiKey, api: 'deployments' })
    expect(chatUrl(upstream, 'a/b c')).toContain('/deployments/a%2Fb%20c/chat/')
    expect(() => chatUrl(upstream, '..')).toThrow('does not exist')
  })

  it('names the deployment in the path of all operations but responses, and in the query of a session', () => {
    const upstream = azure({ resource: 'res', apiKey, apiVersion: '2025-04-01-preview' })
    const url = (path: string): string => callUrl(upstream, path, undefined, 'd')
    const end = 'api-version=2025-04-01-preview'
    expect(url(upstream.formats.responses ?? '')).toBe(`${host}/openai/responses?${end}`)
    expect(url(upstream.operations?.transcriptions?.openai ?? '')).toBe(
      `${host}/openai/deployments/d/audio/transcriptions?${end}`,
    )
    expect(url(upstream.realtime ?? '')).toBe(`${host}/openai/realtime?deployment=d&${end}`)
  })

  it('offers Azure’s operations in both APIs', () => {
    const names = [
      'completions',
      'embeddings',
      'images',
      'image-edits',
      'transcriptions',
      'translations',
      'speech',
      'realtime-sessions',
    ]
    for (const api of ['v1', 'deployments'] as const)
      expect(Object.keys(azure({ resource: 'res', apiKey, api }).operations ?? {})).toEqual(names)
  })

  it.each<[AzureOptions, readonly string[]]>([
    [{ resource: 'res', apiKey }, ['chat', 'responses']],
    [{ resource: 'res', apiKey, apiVersion: '2024-12-01-preview' }, ['chat']],
    [{ resource: 'res', apiKey, apiVersion: '2025-03-01-preview' }, ['chat', 'responses']],
    [{ resource: 'res', apiKey, api: 'inference' }, ['chat']],
    [{ resource: 'res', apiKey, formats: ['responses'] }, ['responses']],
  ])('supports with %j the formats %j', (options, formats) => {
    expect(Object.keys(azure(options).formats)).toEqual(formats)
  })

  it.each<[AzureOptions, object]>([
    [{ resource: 'res', apiKey }, {}],
    [
      { resource: 'res', apiKey, apiVersion: '2024-02-01' },
      { maxTokensField: 'max_tokens', streamOptions: false, developerRole: 'system' },
    ],
    [{ resource: 'res', apiKey, apiVersion: '2024-10-21' }, { developerRole: 'system' }],
    [{ resource: 'res', apiKey, apiVersion: '2024-12-01-preview' }, {}],
  ])('maps the options %j to the quirks %j', (options, quirks) => {
    expect(azure(options).quirks).toEqual(quirks)
  })

  it('sends a key, one of several keys, or a token', async () => {
    expect(azure({ resource: 'res', apiKey }).headers).toEqual({ 'api-key': apiKey })
    const two = azure({ resource: 'res', apiKey: ['a', { key: 'b', weight: 3 }] })
    expect(two.keys).toEqual([
      { headers: { 'api-key': 'a' }, weight: 1 },
      { headers: { 'api-key': 'b' }, weight: 3 },
    ])
    const entra = azure({ resource: 'res', token: async () => 'entra' })
    expect(entra.headers).toEqual({})
    expect(await entra.authorize?.({ method: 'POST', url: 'http://x', headers: {}, body: '' })).toEqual({
      authorization: 'Bearer entra',
    })
  })

  it('lets the inference API pass on unknown fields to the model', () => {
    expect(azure({ resource: 'res', apiKey, api: 'inference' }).headers).toMatchObject({
      'extra-parameters': 'pass-through',
    })
  })

  it('uses messages for Claude deployments only, on the host that serves them', () => {
    const upstream = azure({ resource: 'res', apiKey, formats: ['chat', 'messages'] })
    expect(callUrl(upstream, upstream.formats.messages ?? '', undefined, 'claude-x')).toBe(
      `${foundry}/anthropic/v1/messages`,
    )
    expect(upstream.countTokens).toEqual({ messages: '/anthropic/v1/messages/count_tokens' })
    expect(upstream.headers).toEqual({ 'api-key': apiKey, 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' })
    expect(upstream.passHeaders).toEqual(['anthropic-version', 'anthropic-beta'])
    const serves = (model: string) => [upstream.serves?.('chat', model), upstream.serves?.('messages', model)]
    expect(serves('claude-opus-5')).toEqual([false, true])
    expect(serves('gpt-5')).toEqual([true, false])
    expect(azure({ resource: 'res', apiKey, formats: ['messages'] }).serves).toBeUndefined()
  })

  it.each<[AzureOptions, string]>([
    [{ apiKey }, 'resource is missing: set resource'],
    [{ resource: 'res', baseURL: host, apiKey }, 'resource and baseURL are both set'],
    [{ resource: 'https://res.openai.azure.com', apiKey }, 'use baseURL for a URL'],
    [{ resource: 'res' }, 'apiKey is missing: set apiKey'],
    [{ resource: 'res', apiKey, token: () => 't' }, 'apiKey and token are both set'],
    [{ resource: 'res', token: 'tok-canary-1' as unknown as () => string }, 'token is a string: write a function'],
    [{ resource: 'res', apiKey, api: 'v1', apiVersion: '2024-10-21' }, "apiVersion is '2024-10-21': the v1 API has no"],
    [{ resource: 'res', apiKey, api: 'deployments', apiVersion: 'latest' }, "apiVersion is 'latest'"],
    [{ resource: 'res', apiKey, api: 'inference', formats: ['responses'] }, "formats holds 'responses'"],
    [{ resource: 'res', apiKey, formats: [] }, 'formats is empty'],
    [{ baseURL: `${host}/openai/deployments/d/chat/completions`, apiKey }, "end the URL before '/openai'"],
    [{ baseURL: `${host}/openai/v1?api-version=preview`, apiKey }, 'must not contain a query'],
  ])('reports one problem of %j with its fix: %s', (options, words) => {
    expect(azure(options)).toMatchObject({ formats: {}, problems: [expect.stringContaining(words)] })
    expect(JSON.stringify(azure(options))).not.toContain('canary')
  })
})
