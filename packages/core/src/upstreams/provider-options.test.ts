import { describe, expect, it } from 'vitest'
import * as core from '../index.ts'
import { providerCatalog } from './catalog.ts'
import { apiKeyHeaders, bearerHeader, commonProblems } from './provider-options.ts'
import type { ApiKey } from './upstream.ts'

const fix = 'Set the environment variable that it is read from (usually SOME_KEY)'
const problems = (options: object) => commonProblems(options, { apiKey: 'SOME_KEY' })

describe('problems of common options', () => {
  it.each<[string, object, readonly string[]]>([
    ['no key', {}, []],
    ['a key', { apiKey: 'k' }, []],
    ['several keys', { apiKey: ['k', { key: 'l' }, { key: 'm', weight: 0.5 }] }, []],
    [
      'undefined',
      { apiKey: undefined },
      [`apiKey is undefined. ${fix}, or leave apiKey out if the upstream needs none`],
    ],
    ['null', { apiKey: null }, [`apiKey is null. ${fix}, or leave apiKey out if the upstream needs none`]],
    ['an empty key', { apiKey: '' }, [`apiKey is empty. ${fix}, or leave apiKey out if the upstream needs none`]],
    ['white space', { apiKey: ' \n' }, [`apiKey is empty. ${fix}, or leave apiKey out if the upstream needs none`]],
    ['a number', { apiKey: 123456 }, ['apiKey is a number: write it as a string']],
    ['an object', { apiKey: { key: 'canary' } }, ['apiKey is an object: write it as a string']],
    [
      'a line break',
      { apiKey: 'canary\n' },
      ['apiKey contains a line break or another character that is not allowed in headers'],
    ],
    ['an empty list', { apiKey: [] }, ['apiKey is an empty list: add a key, or leave apiKey out']],
    [
      'a list with holes',
      { apiKey: ['canary', '', undefined, 5, { weight: 1 }, { key: '' }] },
      [
        `apiKey[1] is empty. ${fix}`,
        `apiKey[2] is undefined. ${fix}`,
        'apiKey[3] is a number: write it as a string',
        `apiKey[4].key is undefined. ${fix}`,
        `apiKey[5].key is empty. ${fix}`,
      ],
    ],
    ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, null].map((weight): [string, object, readonly string[]] => [
      `the weight ${weight}`,
      { apiKey: [{ key: 'canary', weight }] },
      [`apiKey[0].weight is ${weight}: write a number greater than 0`],
    ]),
    [
      'headers without a value',
      { headers: { 'x-team': undefined, 'x-key': 'canary\r\nx: y' } },
      [
        "headers['x-team'] is undefined: write a string, or leave it out",
        "headers['x-key'] has a name or a value that HTTP does not allow",
      ],
    ],
    ['a base URL that is undefined', { baseURL: undefined }, []],
  ])('name the option and the fix for %s, without a secret', (_, options, expected) => {
    expect(problems(options)).toEqual(expected)
    expect(problems(options).join()).not.toContain('canary')
  })
})

type Factory = (options: object) => core.Upstream

const factories = Object.entries(providerCatalog).map(
  ([name, { create, example = {}, environment }]) =>
    [name, create as Factory, example, environment?.apiKey[0]] as const,
)

const create = (upstreams: Record<string, core.Upstream>) =>
  core.createGateway({ auth: 'none', upstreams, models: { m: Object.keys(upstreams)[0] as string } })

describe('provider factories', () => {
  it.each(factories)('%s records that its key is undefined, empty or not a string', (_, factory, example, variable) => {
    for (const [apiKey, words] of [
      [undefined, 'apiKey is undefined. Set the environment variable'],
      [null, 'apiKey is null. Set the environment variable'],
      ['', 'apiKey is empty. Set the environment variable'],
      [5, 'apiKey is a number: write it as a string'],
    ] as const) {
      const upstream = factory({ ...example, apiKey })
      expect(upstream.problems?.[0]).toContain(words)
      if (variable !== undefined && typeof apiKey !== 'number')
        expect(upstream.problems?.[0]).toContain(`(usually ${variable})`)
      expect(() => create({ up: upstream })).toThrow(`upstreams.up.${words}`)
    }
  })

  it.each(factories)('%s accepts options without a key', async (_, factory, example) => {
    const upstream = factory(example)
    expect(upstream.problems).toBeUndefined()
    await create({ up: upstream }).close()
  })

  it.each(factories)('%s returns an upstream without formats if its options have problems', (_, factory, example) => {
    const { problems, ...rest } = factory({ ...example, apiKey: undefined })
    expect(problems).toHaveLength(1)
    expect(rest).toEqual({ baseURL: '', formats: {}, headers: {}, passHeaders: [], quirks: {} })
  })
})

describe('createGateway', () => {
  const one = { auth: 'none', upstreams: { a: core.openai({ apiKey: 'k' }) }, models: { m: 'a' } } as const
  const broken = {
    auth: 'none',
    upstreams: {
      a: core.openai({ apiKey: undefined, baseURL: 'localhost' }),
      // A copy is as unusable as the original.
      b: { ...core.anthropic({ apiKey: '' }), formats: { messages: '/v1/messages' } },
    },
    models: { m: 'a', n: 'c' },
  } as const
  const lines = [
    'upstreams.a.apiKey is undefined. Set the environment variable that it is read from (usually OPENAI_API_KEY)',
    "upstreams.a.baseURL 'localhost' is not a URL",
    'upstreams.b.apiKey is empty. Set the environment variable that it is read from (usually ANTHROPIC_API_KEY)',
    "models['n'] names the unknown upstream 'c'",
  ]
  const errorOf = (work: () => unknown): unknown => {
    try {
      return work()
    } catch (error) {
      return error
    }
  }

  it('reports the problems of all upstreams together with those of models', () =>
    expect(errorOf(() => core.createGateway(broken as unknown as core.GatewayConfig))).toMatchObject({
      name: 'TypeError',
      problems: lines.map((line) => expect.stringContaining(line)),
    }))

  it('keeps the current configuration if a new one has upstreams with problems', async () => {
    const gateway = core.createGateway(one)
    const error = errorOf(() => gateway.reconfigure(broken as unknown as core.GatewayConfig))
    expect(error).toMatchObject({ problems: lines.map((line) => expect.stringContaining(line)) })
    const models = await gateway.fetch(new Request('http://gateway.test/v1/models'))
    expect(await models.json()).toMatchObject({ data: [{ id: 'm' }] })
    await gateway.close()
  })
})

const own = { 'x-version': '1' }

describe('credentials', () => {
  it.each<[string, ApiKey | undefined, ReturnType<typeof apiKeyHeaders>]>([
    ['no key', undefined, { headers: own }],
    ['one key', 'k', { headers: { authorization: 'Bearer k', ...own } }],
    ['a list of one key', ['k'], { headers: { authorization: 'Bearer k', ...own } }],
    ['a list of one key with a weight', [{ key: 'k', weight: 4 }], { headers: { authorization: 'Bearer k', ...own } }],
    [
      'several keys',
      ['k', { key: 'l', weight: 0.5 }, { key: 'm' }],
      {
        headers: own,
        keys: [
          { headers: { authorization: 'Bearer k' }, weight: 1 },
          { headers: { authorization: 'Bearer l' }, weight: 0.5 },
          { headers: { authorization: 'Bearer m' }, weight: 1 },
        ],
      },
    ],
  ])('become headers and keys for %s', (_, apiKey, expected) =>
    expect(apiKeyHeaders(apiKey, bearerHeader, own)).toEqual(expected),
  )

  it('are overridden by configured headers', () =>
    expect(apiKeyHeaders('k', bearerHeader, { authorization: 'Basic x' })).toEqual({
      headers: { authorization: 'Basic x' },
    }))
})
