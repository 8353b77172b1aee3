import { describe, expect, it, vi } from 'vitest'
import { type ReportProblem, reportAllProblems } from '../base/problems.ts'
import type { BreakerConfig, GatewayConfig, RetryConfig } from '../config/config.ts'
import { defaultLimits, type Limits, resolveLimits } from '../config/limits.ts'
import * as core from '../index.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'
import { checkBreaker, checkModels, checkPolicy, checkRetry } from './validate-config.ts'

it('uses the default for an undefined limit', () => {
  const limits = { bodyBytes: undefined, idleMs: 5 } as unknown as Limits
  expect(resolveLimits(limits)).toEqual({ ...defaultLimits, idleMs: 5 })
  expect(resolveLimits(undefined)).toEqual(defaultLimits)
})

it('sends default heartbeats early enough for a 15 s interval with late timers', () => {
  expect(defaultLimits.heartbeatMs).toBeLessThanOrEqual(14_000)
})

it('limits infinite times to the longest timer delay and keeps infinite sizes', () => {
  const { firstByteMs, bodyBytes } = resolveLimits({
    firstByteMs: Number.POSITIVE_INFINITY,
    bodyBytes: Number.POSITIVE_INFINITY,
  })
  expect(firstByteMs).toBe(2 ** 31 - 1)
  expect(bodyBytes).toBe(Number.POSITIVE_INFINITY)
})

it('reports every problem of a configuration at once', () => {
  const config = {
    auth: 'nobody',
    upstreams: { a: core.openai({ apiKey: 'k' }), b: {} },
    models: { x: 'c', y: { upstream: 'a', modle: 'z', weight: -1 }, z: [5] },
    retry: { attempts: 0, backof: 1 },
    limits: { bodyBytes: 0, bodyByte: 5 },
    references: { file: 'own' },
    basePath: 'ai',
  } as unknown as core.GatewayConfig
  let message = ''
  try {
    core.createGateway(config)
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    message = String(error)
  }
  expect(message).toContain('The configuration has 12 problems:\n- auth is required')
  for (const words of [
    'upstreams.b is not an upstream',
    "models['x'] names the unknown upstream 'c'",
    "models['y'].modle is unknown",
    "models['y'].weight is -1",
    "models['z'] holds a value of type number",
    'retry.attempts is 0',
    'retry.backof is unknown',
    'limits.bodyBytes is 0',
    'limits.bodyByte is unknown',
    'references.file is unknown',
    "basePath is 'ai'",
  ])
    expect(message).toContain(`\n- ${words}`)
})

it('throws a single problem without a list', () => {
  const config = { auth: 'none', upstreams: {}, models: {} } as const
  expect(() => core.createGateway(config)).toThrow(/^upstreams is empty: add at least one[^\n]+$/)
})

it('logs a rejected credential of an upstream without a stray undefined', async () => {
  const warn = vi.fn()
  const gateway = core.createGateway({
    auth: 'none',
    upstreams: { up: core.openai({ apiKey: 'k' }) },
    models: { m: 'up' },
    logger: { warn, error: vi.fn() },
    fetch: async () => Response.json({ error: { message: 'no' } }, { status: 401 }),
  })
  const response = await gateway.fetch(
    new Request('http://gateway.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    }),
  )
  expect(response.status).toBe(502)
  expect(warn.mock.calls).toEqual([[expect.stringContaining("upstream 'up' rejected the configured credentials")]])
  await gateway.close()
})

const upstream = openaiCompatible({ baseURL: 'http://up.test/v1' })
const check = (models: unknown): void =>
  reportAllProblems((report) =>
    checkModels({ models: models as GatewayConfig['models'], upstreams: { a: upstream, b: upstream } }, report),
  )
const thrown = (call: (report: ReportProblem) => void): unknown => {
  try {
    reportAllProblems(call)
  } catch (error) {
    return error instanceof TypeError ? error.message : error
  }
  return undefined
}
const cycle: Record<string, unknown> = {}
cycle.self = cycle

const form = "write an upstream's name, a target, a list of them, or a plan"
const features =
  'write one of tools, images, audio, video, documents, json, reasoning, stream, fits, or a function (request) => boolean'

describe('invalid models', () => {
  it.each([{}, undefined])('are rejected as empty: %j', (models) =>
    expect(thrown(() => check(models))).toBe("models is empty: add at least one model route, such as { 'gpt-*': 'a' }"),
  )

  it.each<[string, unknown, string]>([
    ['null', null, `models['m'] holds null: ${form}`],
    ['a number', 5, `models['m'] holds a value of type number: ${form}`],
    ['undefined in a list', ['a', undefined], `models['m'] holds a value of type undefined: ${form}`],
    ['a list in a list', [['a']], `models['m'] holds a value of type object: ${form}`],
    ['an empty list', [], "models['m'] is an empty list: add an upstream"],
    ['a plan without targets', { targets: [] }, "models['m'] is an empty list: add an upstream"],
    [
      'a plan whose targets are no list',
      { targets: 'a' },
      "models['m'].targets is not a list: write a list of upstream names or targets",
    ],
    ['an unknown upstream', 'c', "models['m'] names the unknown upstream 'c'. Known upstreams: a, b"],
    [
      'the name of an inherited property',
      'toString',
      "models['m'] names the unknown upstream 'toString'. Known upstreams: a, b",
    ],
    [
      'an unknown upstream in a list',
      ['a', 'c'],
      "models['m'][1] names the unknown upstream 'c'. Known upstreams: a, b",
    ],
    [
      'a target without an upstream',
      { model: 'x' },
      "models['m'] names the unknown upstream 'undefined'. Known upstreams: a, b",
    ],
    [
      'a plan with a misspelled field',
      { targets: ['a'], strategie: 'order' },
      "models['m'].strategie is unknown. Known fields: targets, strategy, preferLossless, card, retry, hedgeMs, holdUntil",
    ],
    [
      'an unknown strategy',
      { targets: ['a'], strategy: 'random' },
      "models['m'].strategy is 'random': write one of order, weighted, fastest, sticky",
    ],
    ...(['order', 'fastest'] as const).map((strategy): [string, unknown, string] => [
      `weights with ${strategy}`,
      { targets: [{ upstream: 'a', weight: 2 }, 'b'], strategy },
      `models['m'] has weights, which the strategy '${strategy}' ignores: leave them out, or write 'weighted' or 'sticky'`,
    ]),
    [
      'a preferLossless that is not a boolean',
      { targets: ['a'], preferLossless: 'no' },
      "models['m'].preferLossless is no: write true or false",
    ],
    ['a hedgeMs of 0', { targets: ['a', 'b'], hedgeMs: 0 }, "models['m'].hedgeMs is 0: write a number greater than 0"],
    [
      'hedging with a single target',
      { targets: ['a'], hedgeMs: 50 },
      "models['m'].hedgeMs requires at least two targets",
    ],
    [
      'an unknown holdUntil',
      { targets: ['a'], holdUntil: 'never' },
      "models['m'].holdUntil is 'never': write one of first-event, end",
    ],
    [
      'hedging of streams that are held',
      { targets: ['a', 'b'], holdUntil: 'end', hedgeMs: 50 },
      "models['m'].hedgeMs excludes holdUntil 'end': leave one out",
    ],
    [
      'invalid retry settings of a plan',
      { targets: ['a'], retry: { attempts: 0 } },
      "models['m'].retry.attempts is 0: write a whole number of at least 1; the first call counts",
    ],
  ])('are rejected: %s', (_, route, message) => expect(thrown(() => check({ m: route }))).toBe(message))
})

describe('an invalid target', () => {
  it.each<[object, string]>([
    [
      { modell: 'x' },
      '.modell is unknown. Known fields: upstream, model, onLoss, priority, weight, when, card, defaults, overrides, cache, limits',
    ],
    [{ onLoss: 'throw' }, ".onLoss is 'throw': write 'ignore', 'warn' or 'reject'"],
    [{ weight: 0 }, '.weight is 0: write a number greater than 0'],
    [{ weight: -1 }, '.weight is -1: write a number greater than 0'],
    [{ weight: '2' }, '.weight is 2: write a number greater than 0'],
    [{ weight: Number.NaN }, '.weight is NaN: write a number greater than 0'],
    [{ weight: 1 / 0 }, '.weight is Infinity: write a number greater than 0'],
    [{ priority: '1' }, '.priority is 1: write a number; targets with the lowest number are tried first'],
    [{ priority: 1 / 0 }, '.priority is Infinity: write a number; targets with the lowest number are tried first'],
    [{ when: 'pictures' }, `.when is 'pictures': ${features}`],
    [{ when: ['images', 'pictures'] }, `.when is 'pictures': ${features}`],
    [{ when: [] }, `.when is '': ${features}`],
    [{ when: null }, `.when is 'null': ${features}`],
    [{ when: 5 }, `.when is '5': ${features}`],
    [
      { limits: { totalMS: 5 } },
      ".limits.totalMS is unknown. Did you mean 'totalMs'? Known fields: connectMs, firstByteMs, idleMs, totalMs",
    ],
    ...(['connectMs', 'firstByteMs', 'idleMs', 'totalMs'] as const).map((name): [object, string] => [
      { limits: { [name]: 0 } },
      `.limits.${name} is 0: write a number greater than 0`,
    ]),
    ...(['defaults', 'overrides'] as const).flatMap((field): [object, string][] => [
      ...[null, [], 'x', 5].map((wish): [object, string] => [
        { [field]: wish },
        `.${field} is not an object: write fields of the request body, such as { temperature: 0.2 }`,
      ]),
      [{ [field]: { model: 'x' } }, `.${field} holds 'model': set the model of the target instead`],
      [{ [field]: { stream: true } }, `.${field} holds 'stream': the client decides whether to stream`],
      [{ [field]: { seed: 1n } }, `.${field} cannot be serialized as JSON`],
      [{ [field]: cycle }, `.${field} cannot be serialized as JSON`],
    ]),
  ])('is rejected: %o', (wrong, message) => {
    expect(thrown(() => check({ m: { upstream: 'a', ...wrong } }))).toBe(`models['m']${message}`)
    expect(thrown(() => check({ m: { targets: ['b', { upstream: 'a', ...wrong }] } }))).toBe(`models['m'][1]${message}`)
  })

  it.each([
    ['m', '*-*', "models['m'].model is '*-*': it has more '*' than 'm'"],
    ['m-*', '*-*', "models['m-*'].model is '*-*': it has more '*' than 'm-*'"],
    ['*-*', '*/*/*', "models['*-*'].model is '*/*/*': it has more '*' than '*-*'"],
  ])('is rejected because of too many stars: %s with the model %s', (name, model, message) =>
    expect(thrown(() => check({ [name]: { upstream: 'a', model } }))).toBe(message),
  )
})

describe('valid models', () => {
  it.each<[string, unknown]>([
    ['m', 'a'],
    ['m', ['a', 'b', 'a']],
    ['m', { upstream: 'a', model: '*' }],
    ['*-*', { upstream: 'a', model: '*/*' }],
    ['m', { targets: ['a', { upstream: 'b', weight: 0.5 }] }],
    ['m', { targets: [{ upstream: 'b', weight: 2 }], strategy: 'sticky', preferLossless: false }],
    ['m', { targets: ['a', 'b'], strategy: 'fastest', hedgeMs: 200, retry: { attempts: 1 } }],
    ['m', { upstream: 'a', priority: -1, when: 'images', onLoss: 'ignore', defaults: { a: null }, overrides: {} }],
    ['m', { upstream: 'a', when: ['tools', 'stream'], limits: { totalMs: 1 / 0 } }],
    ['m', { upstream: 'a', when: () => true, limits: undefined, defaults: undefined }],
  ])('are accepted: %s with %o', (name, route) => expect(thrown(() => check({ [name]: route }))).toBeUndefined())
})

describe('retry settings', () => {
  const known = 'attempts, maxWaitMs, stayMs, backoffMs, maxBackoffMs, budgetRatio, budgetFloor'
  it.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [false, undefined],
    [{}, undefined],
    [{ attempts: 1, maxWaitMs: 0, backoffMs: 0, maxBackoffMs: 0, budgetRatio: 0, budgetFloor: 0 }, undefined],
    [true, 'retry is true: write an object, or false'],
    [null, 'retry is null: write an object, or false'],
    [3, 'retry is 3: write an object, or false'],
    [{ attemps: 3 }, `retry.attemps is unknown. Known fields: ${known}`],
    ...[0, 1.5, -1, Number.NaN, 1 / 0, '3'].map((attempts): [unknown, string] => [
      { attempts },
      `retry.attempts is ${attempts}: write a whole number of at least 1; the first call counts`,
    ]),
    ...['maxWaitMs', 'backoffMs', 'maxBackoffMs', 'budgetRatio', 'budgetFloor'].flatMap((name) =>
      [-1, Number.NaN, '5', null].map((value): [unknown, string] => [
        { [name]: value },
        `retry.${name} is ${value}: write a number from 0`,
      ]),
    ),
  ])('%o report the problem %j', (retry, message) =>
    expect(thrown((report) => checkRetry(retry as RetryConfig, 'retry', report))).toBe(message),
  )
})

describe('breaker settings', () => {
  it.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [false, undefined],
    [{ failures: 1, failureRate: 1, window: 1, restMs: 1 }, undefined],
    [true, 'breaker is true: write an object, or false'],
    [null, 'breaker is null: write an object, or false'],
    [{ rest: 1 }, 'breaker.rest is unknown. Known fields: failures, failureRate, window, restMs'],
    ...['failures', 'failureRate', 'window', 'restMs'].flatMap((name) =>
      [0, -1, Number.NaN, '5'].map((value): [unknown, string] => [
        { [name]: value },
        `breaker.${name} is ${value}: write a number greater than 0`,
      ]),
    ),
    [{ failureRate: 50 }, 'breaker.failureRate is 50: write a number from 0 to 1'],
    [{ window: 1.5 }, 'breaker.window is 1.5: write a whole number of calls'],
    [{ window: 1 / 0 }, 'breaker.window is Infinity: write a whole number of calls'],
  ])('%o report the problem %j', (breaker, message) =>
    expect(thrown((report) => checkBreaker(breaker as BreakerConfig, report))).toBe(message),
  )
})

it.each([
  ['ignore', undefined],
  [undefined, undefined],
  ['fail', "x is 'fail': write 'ignore', 'warn' or 'reject'"],
  [null, "x is 'null': write 'ignore', 'warn' or 'reject'"],
])('reports for the loss policy %s the problem %j', (policy, message) =>
  expect(thrown((report) => checkPolicy(policy, 'x', report))).toBe(message),
)
