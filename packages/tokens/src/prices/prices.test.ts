import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FinishEvent } from '@modelgate/core'
import { afterAll, describe, expect, it } from 'vitest'
import { billionthsOf } from './money.ts'
import type { PriceTable } from './price-table.ts'
import { costOfCall, createFinder, createPrices, pricePlugin, readPrices } from './prices.ts'

const folder = mkdtempSync(join(tmpdir(), 'prices-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = (text: string): string => {
  const path = join(folder, 'prices.json')
  writeFileSync(path, text)
  return path
}

describe('a price table', () => {
  const good = { models: { 'gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 } } }

  it('is read from a file', () => {
    const prices = readPrices(file(JSON.stringify({ currency: 'EUR', ...good })))
    expect(prices.currency).toBe('EUR')
    expect(prices.priceOf('openai', 'gpt-5')).toEqual({ input: 1.25, cachedInput: 0.125, output: 10 })
  })

  it('may begin with a byte order mark', () =>
    expect(readPrices(file(`\ufeff${JSON.stringify(good)}`)).currency).toBe('USD'))

  it('does not change after it is read', () => {
    const table = { models: { m: { input: 1 } } }
    const prices = createPrices(table)
    table.models.m.input = 2
    expect(prices.priceOf('u', 'm')).toEqual({ input: 1 })
    expect(Object.isFrozen(prices.priceOf('u', 'm'))).toBe(true)
  })

  it('accepts prices of 0, undefined fields and names of Object.prototype properties', () => {
    const prices = readPrices(file('{"models":{"__proto__":{"input":0},"constructor":{"output":1}}}'))
    expect(prices.priceOf('u', '__proto__')).toEqual({ input: 0 })
    expect(prices.priceOf('u', 'constructor')).toEqual({ output: 1 })
    expect(prices.priceOf('u', 'toString')).toBeUndefined()
    const undefinedField = { models: { m: { input: 1, output: undefined } } } as unknown as PriceTable
    expect(createPrices(undefinedField).priceOf('u', 'm')?.output).toBeUndefined()
  })

  it.each([
    ['[]', '[] is not a price table: write { "models": { … } }'],
    ['"x"', '"x" is not a price table'],
    ['{}', 'models is undefined: write an object with a price for each model'],
    ['{"models":[]}', 'models is []: write an object'],
    [
      '{"gpt-5":{"input":1}}',
      `unknown field "gpt-5". Known fields: "currency", "asOf" and "models". Put the price of a model into`,
    ],
    ['{"currency":"usd","models":{}}', 'currency is "usd": write an ISO 4217 code in capital letters, such as "USD"'],
    ['{"currency":null,"models":{}}', 'currency is null: write an ISO 4217 code'],
    ['{"models":{"":{"input":1}}}', `models[""]: a model name must not be empty`],
    ['{"models":{"gpt-5 ":{"input":1}}}', `models["gpt-5 "]: a model name must not be empty or have spaces around it`],
    ['{"models":{"gpt-5":1.25}}', 'models["gpt-5"] is 1.25: write an object with prices, such as { "input": 1.25'],
    ['{"models":{"gpt-5":{}}}', 'models["gpt-5"] has no price: set at least one (0 if free)'],
    ['{"models":{"m":{"cached_input":1}}}', 'models["m"]: unknown field "cached_input": write "cachedInput"'],
    ['{"models":{"m":{"prompt":1}}}', 'models["m"]: unknown field "prompt": write one of input, cachedInput,'],
    ['{"models":{"m":{"toString":1}}}', 'models["m"]: unknown field "toString": write one of'],
    ['{"models":{"m":{"input":"1.25"}}}', 'models["m"].input is "1.25": write a number without quotes'],
    ['{"models":{"m":{"input":null}}}', 'models["m"].input is null: write a number'],
    ['{"models":{"m":{"input":1e999}}}', 'models["m"].input is Infinity: write a number'],
    ['{"models":{"m":{"output":-1}}}', 'models["m"].output is -1: a price is 0 or more'],
    ['{"models":{"m":{"output":9000001}}}', 'models["m"].output is 9000001: the maximum price is 9000000'],
    ['{"models":{"m":{"output":1e-10}}}', 'models["m"].output is 1e-10: a price has at most nine decimal places'],
    ['{"models":', 'the prices are not valid JSON: '],
    ['', 'the prices are not valid JSON: '],
  ])('is rejected if it is %s', (text, message) => {
    const path = file(text)
    expect(() => readPrices(path)).toThrow(TypeError)
    expect(() => readPrices(path)).toThrow(`${path}: ${message}`)
  })

  it('is called "prices" in error messages if it is not from a file', () =>
    expect(() => createPrices({ models: { m: { input: Number.NaN } } })).toThrow(
      'prices: models["m"].input is NaN: write a number without quotes, or leave the field out if it is unknown',
    ))

  it('that does not exist causes a clear error', () => {
    const path = join(folder, 'none.json')
    expect(() => readPrices(path)).toThrow(`${path}: the prices cannot be read (ENOENT`)
    expect(() => readPrices(folder)).toThrow(`${folder}: the prices cannot be read (EISDIR`)
  })
})

describe('the estimated cost of a call', () => {
  const prices = createPrices({
    models: {
      cheap: { input: 1, output: 2 },
      dear: { input: 3, output: 15, request: 0.01 },
      'reads-only': { input: 0.02 },
      draws: { image: 0.04, request: 0.001 },
      searches: { request: 0.002 },
    },
  })
  const to = (...models: string[]) => models.map((model) => ({ upstream: 'u', model }))
  it.each([
    ['one target', ['cheap'], { input: 1000, output: 500 }, 2_000_000],
    ['the most expensive of many targets', ['cheap', 'dear'], { input: 1000, output: 500 }, 20_500_000],
    ['the most expensive target in any order', ['dear', 'cheap'], { input: 1000, output: 500 }, 20_500_000],
    ['half a billionth, rounded up', ['reads-only'], { input: 0.025, output: 0 }, 1],
    ['no output and no output price', ['reads-only'], { input: 1000, output: 0 }, 20_000],
    ['output without a price', ['reads-only'], { input: 1000, output: 1 }, undefined],
    ['a target without a price', ['cheap', 'unknown'], { input: 1, output: 1 }, undefined],
    ['a model priced per image', ['draws'], { input: 1000, output: 0 }, 41_000_000],
    ['a model priced per call', ['searches'], { input: 1000, output: 0 }, 2_000_000],
    ['no target', [], { input: 1, output: 1 }, undefined],
    ['a NaN estimate', ['cheap'], { input: Number.NaN, output: 1 }, undefined],
  ])('is correct for %s', (_, models, tokens, billionths) =>
    expect(prices.estimate(to(...models), tokens)).toBe(billionths),
  )
})

describe('the cost of a finished call', () => {
  const prices = createPrices({ currency: 'EUR', models: { m: { input: 1, output: 2, request: 0.5 } } })
  const usage = { input: { total: 1000 }, output: { total: 500 } }
  const at = { upstream: 'u', upstreamModel: 'm' }
  const attempt = { upstream: 'u', model: 'm', reason: 'first', startedMs: 1 } as const
  const event = (more: Partial<FinishEvent>): FinishEvent => ({
    requestId: 'req_1',
    identity: null,
    operation: 'generate',
    format: 'chat',
    model: 'alias',
    stream: false,
    status: 200,
    outcome: 'finished',
    losses: [],
    attempts: [attempt],
    startedAt: 0,
    durationMs: 1,
    ...more,
  })
  const refused = { status: 429, outcome: 'failed' } as const
  it.each<[string, Partial<FinishEvent>, number | undefined]>([
    ['that finished', { ...at, usage }, 0.502],
    ['that failed, with its usage until then', { ...at, ...refused, usage }, 0.502],
    ['that was aborted while the upstream was working', { outcome: 'aborted', usage }, 0.502],
    ['that was rejected before any upstream was called', { ...refused, attempts: [] }, 0],
    ['that the upstream rejected', refused, 0],
    ['that the gateway handled itself', { operation: 'get-response', attempts: [] }, 0],
    ['that counted tokens', { ...at, operation: 'count-tokens' }, 0],
    ['that finished with unknown usage', at, undefined],
    ['of a model without a price', { ...at, upstreamModel: 'other', usage }, undefined],
  ])('is correct for a call %s', (_, more, amount) =>
    expect(costOfCall(prices, event(more))).toEqual(amount === undefined ? undefined : { amount, currency: 'EUR' }),
  )

  it('is passed to the gateway by a plugin', () => {
    const plugin = pricePlugin(prices)
    expect(plugin.name).toBe('prices')
    expect(plugin.costOf?.(event({ ...at, usage }))).toEqual({ amount: 0.502, currency: 'EUR' })
  })

  it('is a whole number of billionths', () =>
    expect(billionthsOf({ amount: 0.502, currency: 'EUR' })).toBe(502_000_000))
})

describe('the known part of a cost', () => {
  const prices = createPrices({ models: { m: { input: 1, output: 10 }, half: { output: 10 }, drawn: { image: 0.5 } } })
  const usage = { input: { total: 1000 }, output: { total: 2000 } }
  it.each([
    ['the whole cost if every price is known', { model: 'm', usage }, 21_000_000],
    ['the cost without a search that has no price', { model: 'm', usage, units: { searches: 2 } }, 21_000_000],
    ['the cost without input that has no price', { model: 'half', usage }, 20_000_000],
    [
      'the cost without invalid counts',
      { model: 'drawn', usage: { ...usage, input: { total: -1 } }, units: { images: 2 } },
      1_000_000_000,
    ],
    ['zero if no usage is reported', { model: 'm' }, 0],
    ['zero for a model without a price', { model: 'unknown', usage }, 0],
    ['zero for a free operation', { model: 'm', usage, operation: 'count-tokens' }, 0],
  ])('is %s', (_, call, billionths) => expect(prices.atLeast({ upstream: 'u', ...call })).toBe(billionths))
})

const names = [
  'gpt-5',
  'azure/gpt-5',
  'gpt-5*',
  'gpt-5-mini*',
  'azure/gpt*',
  'azure/*',
  'meta-llama/llama-4',
  'meta-llama/*',
  '*-preview',
  'a*b',
  'a*c',
]
const table = Object.fromEntries(names.map((name) => [name, name]))

it.each([
  ['openai', 'gpt-5', 'gpt-5'],
  ['azure', 'gpt-5', 'azure/gpt-5'],
  ['openai', 'gpt-5-mini-2025', 'gpt-5-mini*'],
  ['openai', 'gpt-5-nano', 'gpt-5*'],
  // A pattern for one upstream wins, even if it has fewer characters.
  ['azure', 'gpt-5-mini-2025', 'azure/gpt*'],
  ['azure', 'o5', 'azure/*'],
  ['together', 'meta-llama/llama-4', 'meta-llama/llama-4'],
  ['together', 'meta-llama/llama-3', 'meta-llama/*'],
  ['google', 'gemini-4-preview', '*-preview'],
  // Patterns of equal weight: the first wins.
  ['u', 'axb', 'a*b'],
  ['u', 'abc', 'a*c'],
  ['openai', 'o5', undefined],
  ['openai', 'GPT-5', undefined],
  ['openai', '', undefined],
  // The model's name is compared as a whole, wherever the slash is.
  ['gpt-5', '', undefined],
])('finds the price for upstream %s and model %s: %s', (upstream, model, found) => {
  const find = createFinder(table)
  expect(find(upstream, model)).toBe(found)
  expect(find(upstream, model), 'remembered').toBe(found)
})

it('matches a star with any model, not with any upstream', () => {
  const find = createFinder({ '*': 'any', 'gpt*': 'gpt', '*/gpt-5': 'slashed' })
  expect(find('openai', 'gpt-5')).toBe('gpt')
  expect(find('openai', 'o5')).toBe('any')
  expect(find('router', 'openai/gpt-5')).toBe('slashed')
})

it('prefers an exact name to a pattern for one upstream', () =>
  expect(createFinder({ 'azure/*': 1, 'gpt-5': 2 })('azure', 'gpt-5')).toBe(2))

it('finds the same prices after more names than it caches, and for long names', () => {
  const find = createFinder({
    ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`*a*-${i}-*`, i])),
    'z*': 'z',
  })
  const start = performance.now()
  for (let i = 0; i < 3000; i++) expect(find('u', `client${i}a-${i % 100}-`)).toBe(i % 100)
  expect(find('u', 'clienta-5-')).toBe(5)
  const long = 'a-'.repeat(50_000)
  expect(find('u', long)).toBeUndefined()
  expect(find('u', `z${long}`)).toBe('z')
  expect(find(long, 'z')).toBe('z')
  // With backtracking, this would take seconds.
  expect(performance.now() - start).toBeLessThan(5000)
})
