import { describe, expect, test } from 'vitest'
import type { Format } from '../formats/ir.ts'
import * as core from '../index.ts'
import { callUrl } from './call-url.ts'
import { speaks } from './formats-for.ts'
import type { Upstream } from './upstream.ts'

interface Maker {
  readonly make: (options?: core.UpstreamOptions) => Upstream
  /** Its address, as its docs give it, and other ways to write that. */
  readonly address: string
  readonly alsoAs?: readonly string[]
  /** Where calls to the model `m` go, best first. */
  readonly calls: Readonly<Partial<Record<Format, string>>>
  readonly carries?: (key: string) => Readonly<Record<string, string>>
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const below = (base: string, ...formats: readonly Format[]): Maker['calls'] => {
  const paths: Partial<Record<Format, string>> = {
    chat: '/chat/completions',
    messages: '/messages',
    responses: '/responses',
  }
  return Object.fromEntries(formats.map((format) => [format, `${base}${paths[format]}`]))
}

const makers: Readonly<Record<string, Maker>> = {
  openai: {
    make: core.openai,
    address: 'https://api.openai.com/v1',
    calls: below('https://api.openai.com/v1', 'chat', 'responses'),
  },
  anthropic: {
    make: core.anthropic,
    address: 'https://api.anthropic.com',
    alsoAs: ['https://api.anthropic.com/v1'],
    calls: below('https://api.anthropic.com/v1', 'messages'),
    carries: (key) => ({ 'x-api-key': key }),
  },
  gemini: {
    make: core.gemini,
    address: 'https://generativelanguage.googleapis.com',
    alsoAs: ['https://generativelanguage.googleapis.com/v1beta'],
    calls: { gemini: 'https://generativelanguage.googleapis.com/v1beta/models' },
    carries: (key) => ({ 'x-goog-api-key': key }),
  },
  mistral: {
    make: core.mistral,
    address: 'https://api.mistral.ai',
    alsoAs: ['https://api.mistral.ai/v1'],
    calls: below('https://api.mistral.ai/v1', 'chat'),
  },
  groq: {
    make: core.groq,
    address: 'https://api.groq.com/openai',
    alsoAs: ['https://api.groq.com/openai/v1'],
    calls: below('https://api.groq.com/openai/v1', 'chat', 'responses'),
  },
  deepseek: {
    make: core.deepseek,
    address: 'https://api.deepseek.com',
    alsoAs: ['https://api.deepseek.com/v1'],
    calls: {
      chat: 'https://api.deepseek.com/chat/completions',
      responses: 'https://api.deepseek.com/responses',
      messages: 'https://api.deepseek.com/anthropic/v1/messages',
    },
  },
  xai: {
    make: core.xai,
    address: 'https://api.x.ai',
    alsoAs: ['https://api.x.ai/v1'],
    calls: below('https://api.x.ai/v1', 'responses', 'chat'),
  },
  openrouter: {
    make: core.openrouter,
    address: 'https://openrouter.ai/api',
    alsoAs: ['https://openrouter.ai/api/v1'],
    calls: below('https://openrouter.ai/api/v1', 'chat', 'messages', 'responses'),
  },
  together: {
    make: core.together,
    address: 'https://api.together.ai',
    alsoAs: ['https://api.together.ai/v1'],
    calls: below('https://api.together.ai/v1', 'chat'),
  },
  fireworks: {
    make: core.fireworks,
    address: 'https://api.fireworks.ai/inference',
    alsoAs: ['https://api.fireworks.ai/inference/v1'],
    calls: below('https://api.fireworks.ai/inference/v1', 'chat', 'responses', 'messages'),
  },
  perplexity: {
    make: core.perplexity,
    address: 'https://api.perplexity.ai',
    alsoAs: ['https://api.perplexity.ai/v1'],
    calls: { chat: 'https://api.perplexity.ai/chat/completions', responses: 'https://api.perplexity.ai/v1/responses' },
  },
  cerebras: {
    make: core.cerebras,
    address: 'https://api.cerebras.ai',
    alsoAs: ['https://api.cerebras.ai/v1'],
    calls: below('https://api.cerebras.ai/v1', 'chat'),
  },
  ollama: {
    make: core.ollama,
    address: 'http://localhost:11434',
    alsoAs: ['http://localhost:11434/v1/'],
    calls: below('http://localhost:11434/v1', 'chat', 'messages', 'responses'),
  },
  vllm: {
    make: core.vllm,
    address: 'http://localhost:8000',
    alsoAs: ['http://localhost:8000/v1'],
    calls: below('http://localhost:8000/v1', 'chat', 'responses', 'messages'),
  },
  llamaCpp: {
    make: core.llamaCpp,
    address: 'http://localhost:8080',
    alsoAs: ['http://localhost:8080/v1'],
    calls: below('http://localhost:8080/v1', 'chat', 'messages', 'responses'),
  },
  lmStudio: {
    make: core.lmStudio,
    address: 'http://localhost:1234',
    alsoAs: ['http://localhost:1234/v1'],
    calls: below('http://localhost:1234/v1', 'chat', 'responses', 'messages'),
  },
  cohere: {
    make: core.cohere,
    address: 'https://api.cohere.com',
    alsoAs: ['https://api.cohere.com/v2'],
    calls: { chat: 'https://api.cohere.com/compatibility/v1/chat/completions' },
  },
  voyage: { make: core.voyage, address: 'https://api.voyageai.com/v1', calls: {} },
  jina: { make: core.jina, address: 'https://api.jina.ai/v1', calls: {} },
}

const callsOf = (upstream: Upstream): Record<string, string> =>
  Object.fromEntries(
    Object.entries(upstream.formats).map(([format, path]) => [format, callUrl(upstream, path ?? '', undefined, 'm')]),
  )

describe.each(Object.entries(makers))('%s', (_, { make, address, alsoAs = [], calls, carries = bearer }) => {
  test('goes to its own address unless told otherwise', () => {
    expect(callsOf(make())).toEqual(calls)
  })

  test('speaks its formats in this order', () => {
    expect(Object.keys(make().formats)).toEqual(Object.keys(calls))
  })

  test.each(['', '/'].flatMap((end) => [address, ...alsoAs].map((url) => url + end)))(
    'takes its address as %s',
    (url) => {
      const { baseURL, formats, operations, countTokens, realtime } = make()
      expect(make({ baseURL: url.endsWith('//') ? url.slice(0, -1) : url })).toMatchObject({
        baseURL,
        formats,
        ...(operations === undefined ? {} : { operations }),
        ...(countTokens === undefined ? {} : { countTokens }),
        ...(realtime === undefined ? {} : { realtime }),
      })
    },
  )

  test('goes where it is told', () => {
    const own = new URL(address)
    const elsewhere = callsOf(make({ baseURL: address.replace(own.origin, 'https://proxy.test:8443') }))
    expect(elsewhere).toEqual(
      Object.fromEntries(
        Object.entries(calls).map(([format, url]) => [format, url.replace(own.origin, 'https://proxy.test:8443')]),
      ),
    )
  })

  test('carries a key, and the headers it is given', () => {
    const { headers, keys } = make({ apiKey: 'key-1', headers: { 'x-team': 'a' } })
    expect(headers).toMatchObject({ ...carries('key-1'), 'x-team': 'a' })
    expect(keys).toBeUndefined()
  })

  test('carries no key where it has none', () => {
    const { headers, keys } = make()
    for (const name of Object.keys(carries('key-1'))) expect(headers).not.toHaveProperty(name)
    expect(keys).toBeUndefined()
  })

  test('spreads calls over several keys', () => {
    const { headers, keys } = make({ apiKey: ['key-1', { key: 'key-2', weight: 3 }] })
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
    [{ baseURL: 'https://api.test/v1?key=k' }, "baseURL 'https://api.test/v1' must not hold a query"],
    [{ baseURL: 'https://ada:secret@api.test/v1' }, 'baseURL holds a name or a password: give them as headers'],
  ])('refuses %j with the reason', (options, reason) => {
    expect(make(options)).toMatchObject({ formats: {}, problems: [expect.stringContaining(reason)] })
  })

  test('passes on the version and the betas of messages exactly where it speaks them', () => {
    const { formats, passHeaders, headers } = make()
    expect(passHeaders).toEqual('messages' in formats ? ['anthropic-version', 'anthropic-beta'] : [])
    expect('anthropic-version' in headers).toBe('messages' in formats)
  })
})

describe('formats to choose from', () => {
  const several = {
    groq: core.groq,
    xai: core.xai,
    openrouter: core.openrouter,
    together: core.together,
    fireworks: core.fireworks,
    ollama: core.ollama,
    vllm: core.vllm,
    llamaCpp: core.llamaCpp,
    lmStudio: core.lmStudio,
  } as const

  test.each(Object.entries(several))('%s speaks those that it is told, in their order', (_, make) => {
    expect(Object.keys(make({ formats: ['chat'] }).formats)).toEqual(['chat'])
    expect(make({ formats: [] }).problems).toEqual([expect.stringContaining('formats is empty')])
    expect(make({ formats: ['gemini' as 'chat'] }).problems).toEqual([
      expect.stringContaining("formats holds 'gemini'"),
    ])
  })

  test('together speaks messages where it is told', () => {
    expect(Object.keys(core.together({ formats: ['chat', 'messages'] }).formats)).toEqual(['chat', 'messages'])
  })

  test('tokens are counted in formats that are spoken only', () => {
    expect(core.llamaCpp().countTokens).toEqual({
      messages: '/messages/count_tokens',
      responses: '/responses/input_tokens',
    })
    expect(core.llamaCpp({ formats: ['chat', 'messages'] }).countTokens).toEqual({ messages: '/messages/count_tokens' })
  })

  test('perplexity speaks chat with its own models, and responses with those of others', () => {
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
  ])('refuses %j with the reason', (options, reason) => {
    const told = { baseURL: 'https://api.test/v1', ...options } as unknown as core.CompatibleOptions
    expect(core.openaiCompatible(told).problems).toEqual([expect.stringContaining(reason)])
  })

  test('leaves clients of chat to themselves unless quirks are declared', () => {
    const { quirks } = core.openaiCompatible({ baseURL: 'https://api.test/v1' })
    expect(quirks).toEqual({ maxTokensField: 'either', developerRole: 'either' })
    expect(
      core.openaiCompatible({ baseURL: 'https://api.test/v1', quirks: { developerRole: 'system' } }).quirks,
    ).toEqual({ maxTokensField: 'either', developerRole: 'system' })
  })
})
