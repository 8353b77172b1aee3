import { describe, expect, test } from 'vitest'
import type { Format } from '../base/names.ts'
import * as core from '../index.ts'
import { type ProviderName, providerCatalog } from './catalog.ts'
import { callUrl, speaks } from './outgoing-call.ts'
import type { Upstream } from './upstream.ts'

type Create = (options?: core.UpstreamOptions) => Upstream

/** Differences of a factory from those of most providers. */
interface Expected {
  /** Its default for `baseURL`. Default here: the address of its upstream, without `/v1`. */
  readonly address?: string
  /** The version that `baseURL` may end with. Default: `/v1`. Undefined: the address includes its version. */
  readonly version?: string | undefined
  /** Addresses of calls to the model `m`, best format first. Default: `/v1/…` below the address, for each format. */
  readonly calls?: Readonly<Partial<Record<Format, string>>>
  readonly carries?: (key: string) => Readonly<Record<string, string>>
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const standardPaths: Readonly<Partial<Record<string, string>>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
}

/** Providers with other paths. A provider that is not listed has the standard paths. */
const exceptions: Readonly<Partial<Record<ProviderName, Expected>>> = {
  openai: {
    address: 'https://api.openai.com/v1',
    version: undefined,
    calls: {
      chat: 'https://api.openai.com/v1/chat/completions',
      responses: 'https://api.openai.com/v1/responses',
    },
  },
  anthropic: { address: 'https://api.anthropic.com', carries: (key) => ({ 'x-api-key': key }) },
  gemini: {
    address: 'https://generativelanguage.googleapis.com',
    version: '/v1beta',
    calls: { gemini: 'https://generativelanguage.googleapis.com/v1beta/models' },
    carries: (key) => ({ 'x-goog-api-key': key }),
  },
  deepseek: {
    address: 'https://api.deepseek.com',
    calls: {
      chat: 'https://api.deepseek.com/chat/completions',
      responses: 'https://api.deepseek.com/responses',
      messages: 'https://api.deepseek.com/anthropic/v1/messages',
    },
  },
  perplexity: {
    address: 'https://api.perplexity.ai',
    calls: { chat: 'https://api.perplexity.ai/chat/completions', responses: 'https://api.perplexity.ai/v1/responses' },
  },
  cohere: {
    address: 'https://api.cohere.com',
    version: '/v2',
    calls: { chat: 'https://api.cohere.com/compatibility/v1/chat/completions' },
  },
  voyage: { address: 'https://api.voyageai.com/v1', version: undefined },
  jina: { address: 'https://api.jina.ai/v1', version: undefined },
}

/** Providers with only a base URL and a key as credential; the others have their own tests. */
const withoutOptions = Object.entries(providerCatalog).filter(([, { example }]) => example === undefined)

const expectations = withoutOptions.map(([name, { create }]) => {
  const upstream = (create as Create)()
  const own = exceptions[name as ProviderName] ?? {}
  const address = own.address ?? upstream.baseURL.replace(/\/v1$/, '')
  const version = 'version' in own ? own.version : '/v1'
  const calls =
    own.calls ??
    Object.fromEntries(Object.keys(upstream.formats).map((format) => [format, `${address}${standardPaths[format]}`]))
  const addresses = version === undefined ? [address] : [address, address + version]
  return [name, { create: create as Create, address, addresses, calls, carries: own.carries ?? bearer }] as const
})

const callsOf = (upstream: Upstream): Record<string, string> =>
  Object.fromEntries(
    Object.entries(upstream.formats).map(([format, path]) => [format, callUrl(upstream, path ?? '', undefined, 'm')]),
  )

describe.each(expectations)('%s', (_, { create, address, addresses, calls, carries }) => {
  test('has the provider’s base URL by default', () => {
    expect(callsOf(create())).toEqual(calls)
  })

  test('supports its formats in the documented order', () => {
    expect(Object.keys(create().formats)).toEqual(Object.keys(calls))
  })

  test.each(['', '/'].flatMap((end) => addresses.map((url) => url + end)))('accepts the base URL %s', (url) => {
    const { baseURL, formats, operations, countTokens, realtime, live } = create()
    expect(create({ baseURL: url })).toMatchObject({
      baseURL,
      formats,
      ...(operations === undefined ? {} : { operations }),
      ...(countTokens === undefined ? {} : { countTokens }),
      ...(realtime === undefined ? {} : { realtime }),
      ...(live === undefined ? {} : { live }),
    })
  })

  test('uses a configured base URL', () => {
    const own = new URL(address)
    const elsewhere = callsOf(create({ baseURL: address.replace(own.origin, 'https://proxy.test:8443') }))
    expect(elsewhere).toEqual(
      Object.fromEntries(
        Object.entries(calls).map(([format, url]) => [format, url.replace(own.origin, 'https://proxy.test:8443')]),
      ),
    )
  })

  test('sends a key and configured headers', () => {
    const { headers, keys } = create({ apiKey: 'key-1', headers: { 'x-team': 'a' } })
    expect(headers).toMatchObject({ ...carries('key-1'), 'x-team': 'a' })
    expect(keys).toBeUndefined()
  })

  test('sends no key without an apiKey', () => {
    const { headers, keys } = create()
    for (const name of Object.keys(carries('key-1'))) expect(headers).not.toHaveProperty(name)
    expect(keys).toBeUndefined()
  })

  test('spreads calls over several keys', () => {
    const { headers, keys } = create({ apiKey: ['key-1', { key: 'key-2', weight: 3 }] })
    expect(keys).toEqual([
      { headers: carries('key-1'), weight: 1 },
      { headers: carries('key-2'), weight: 3 },
    ])
    expect(JSON.stringify(headers)).not.toContain('key-')
  })

  test.each<readonly [core.UpstreamOptions, string]>([
    [{ apiKey: [] }, 'apiKey is an empty list'],
    [{ apiKey: [{ key: 'k', weight: 0 }] }, 'apiKey[0].weight is 0'],
    [{ baseURL: 'api.test/v1' }, 'is not a URL'],
    [{ baseURL: 'ftp://api.test' }, 'must start with http'],
    [{ baseURL: 'https://api.test/v1?key=k' }, "baseURL 'https://api.test/v1' must not contain a query"],
    [{ baseURL: 'https://ada:secret@api.test/v1' }, 'baseURL contains a user name or a password: set them as headers'],
  ])('reports the problem of %j', (options, reason) => {
    expect(create(options)).toMatchObject({ formats: {}, problems: [expect.stringContaining(reason)] })
  })

  test('forwards the version and beta headers of messages only if it supports messages', () => {
    const { formats, passHeaders, headers } = create()
    expect(passHeaders).toEqual('messages' in formats ? ['anthropic-version', 'anthropic-beta'] : [])
    expect('anthropic-version' in headers).toBe('messages' in formats)
  })
})

describe('the option formats', () => {
  const several = Object.entries(providerCatalog).flatMap(([name, { create, options, example = {} }]) => {
    const { formats } = options ?? {}
    return typeof formats === 'object' && 'someOf' in formats
      ? [[name, create as Create, formats.someOf, example] as const]
      : []
  })

  test.each(several)('of %s accepts the listed formats in the configured order', (_, create, formats, example) => {
    const options = { ...example, apiKey: 'key' }
    const reversed = [...formats].reverse()
    for (const list of [formats, reversed, [formats[0]]])
      expect(Object.keys(create({ ...options, formats: list } as core.UpstreamOptions).formats)).toEqual(list)
  })

  /** Providers without their own list of formats. */
  const lenient = ['openai', 'azure', 'bedrock', 'openaiCompatible']
  const strict = several.filter(([name]) => !lenient.includes(name))
  test.each(strict)('of %s rejects an empty list and unsupported formats', (_, create) => {
    expect(create({ formats: [] } as core.UpstreamOptions).problems).toEqual([
      expect.stringContaining('formats is empty'),
    ])
    expect(create({ formats: ['gemini'] } as core.UpstreamOptions).problems).toEqual([
      expect.stringContaining("formats holds 'gemini'"),
    ])
  })

  test('enables messages for together only if configured', () => {
    expect(Object.keys(core.together({ formats: ['chat', 'messages'] }).formats)).toEqual(['chat', 'messages'])
  })

  test('limits token counts to the configured formats', () => {
    expect(core.llamaCpp().countTokens).toEqual({
      messages: '/messages/count_tokens',
      responses: '/responses/input_tokens',
    })
    expect(core.llamaCpp({ formats: ['chat', 'messages'] }).countTokens).toEqual({ messages: '/messages/count_tokens' })
  })

  test('selects chat for perplexity’s own models and responses for other models', () => {
    const upstream = core.perplexity()
    const spoken = (model: string) =>
      (['chat', 'responses'] as const).filter((format) => speaks(upstream, format, model))
    expect(spoken('sonar-pro')).toEqual(['chat'])
    expect(spoken('openai/gpt-5.5')).toEqual(['responses'])
  })
})

describe('openaiCompatible', () => {
  test.each([
    [{ formats: ['gemini'] }, "formats holds 'gemini'"],
    [{ operations: ['dance'] }, "operations holds 'dance'"],
  ])('reports the problem of %j', (options, reason) => {
    const givenOptions = { baseURL: 'https://api.test/v1', ...options } as unknown as core.CompatibleOptions
    expect(core.openaiCompatible(givenOptions).problems).toEqual([expect.stringContaining(reason)])
  })

  test('passes chat requests unchanged unless quirks are configured', () => {
    const { quirks } = core.openaiCompatible({ baseURL: 'https://api.test/v1' })
    expect(quirks).toEqual({ maxTokensField: 'either', developerRole: 'either' })
    expect(
      core.openaiCompatible({ baseURL: 'https://api.test/v1', quirks: { developerRole: 'system' } }).quirks,
    ).toEqual({ maxTokensField: 'either', developerRole: 'system' })
  })
})
