import { createPrices } from '@modelgate/tokens'
import { expect, it } from 'vitest'
import { createTestContext } from '../terminal/command-context.test-support.ts'

const upstreams = {
  openai: { provider: 'openai', apiKey: 'sk-secret' },
  claude: { provider: 'anthropic', apiKey: 'sk-secret' },
}
const models = {
  fast: { upstream: 'openai', model: 'gpt-5-mini' },
  best: ['claude', { upstream: 'openai', model: 'gpt-5' }],
  'claude-*': 'claude',
}

/** Runs `prices check` on a configuration with these prices. */
async function checked(prices: object | undefined, ...args: string[]) {
  return checkedTable(prices === undefined ? undefined : { models: prices }, ...args)
}

async function checkedTable(prices: object | undefined, ...args: string[]) {
  const config = { upstreams, models, ...(prices === undefined ? {} : { prices }) }
  const context = createTestContext({ 'modelgate.config.json': JSON.stringify(config) })
  const code = await context.run('prices', 'check', ...args)
  return { code, output: context.stdout(), error: context.stderr() }
}

it('lists the targets without a price, by their name at the upstream', async () => {
  const { code, output } = await checked(
    { 'gpt-5-mini': { input: 1, output: 2 }, 'claude/best': { input: 3, output: 4 } },
    '--json',
  )
  expect(JSON.parse(output)).toEqual({
    ok: false,
    targets: [
      { name: 'fast', upstream: 'openai', model: 'gpt-5-mini', price: 'known' },
      { name: 'best', upstream: 'claude', model: 'best', price: 'known' },
      { name: 'best', upstream: 'openai', model: 'gpt-5', price: 'missing' },
      { name: 'claude-*', upstream: 'claude', model: 'claude-*', price: 'any' },
    ],
  })
  expect(code).toBe(1)
})

it('prints a table, and never a key', async () => {
  const { code, output } = await checked({ 'gpt-5-mini': { input: 1, output: 2 } })
  expect(output).toContain('2 of 4 targets have no price.')
  expect(output).toMatch(/best +openai +gpt-5 +no price/)
  expect(output).not.toContain('sk-secret')
  expect(code).toBe(1)
})

it('succeeds if every name has a price, also by a pattern', async () => {
  const { code, output } = await checked({ 'gpt-*': { input: 1 }, 'claude/*': { input: 3 } })
  expect(output).toContain('All 4 targets have a price.')
  expect(code).toBe(0)
})

it('explains how to set prices if there are none', async () => {
  const { code, error } = await checked(undefined)
  expect(error).toContain('MODELGATE_PRICES=prices.json')
  expect(code).toBe(1)
})

it('lists prices that are older than a number of days, or have no date', async () => {
  const today = new Date().toISOString().slice(0, 10)
  const table = {
    asOf: '2020-01-31',
    models: {
      'gpt-5-mini': { input: 1, output: 2, asOf: today, source: 'https://example.com/prices' },
      'gpt-5': [{ input: 1 }, { from: '2021-01-01', input: 2, asOf: today }],
      'claude/*': { input: 3 },
    },
  }
  expect((await checkedTable(table)).code).toBe(0)
  const { code, output } = await checkedTable(table, '--max-age', '30')
  expect(code).toBe(1)
  expect(output).toMatch(/best +claude +best +price of 2020-01-31/)
  expect(output).not.toContain('gpt-5')
  expect(output).toContain('2 of 4 prices are too old.')
  expect((await checkedTable({ models: { '*': { input: 1 } } }, '--max-age', '30')).output).toContain(
    'price without a date',
  )
  expect((await checkedTable({ ...table, asOf: today }, '--max-age', '0')).code).toBe(0)
  const wrong = await checkedTable(table, '--max-age', 'month')
  expect([wrong.code, wrong.error]).toEqual([2, expect.stringContaining("--max-age is 'month'")])
})

it('prints list prices of well-known models with source and date, which a server can use', async () => {
  const context = createTestContext()
  expect(await context.run('prices', 'list')).toBe(0)
  const listed = JSON.parse(context.stdout())
  expect(listed.asOf).toMatch(/^20\d\d-\d\d-\d\d$/)
  const entries = Object.values<{ asOf?: string; source?: string }>(listed.models)
  expect(entries.length).toBeGreaterThan(50)
  for (const { asOf, source } of entries)
    expect([asOf, source]).toEqual([listed.asOf, expect.stringContaining('https://')])
  const prices = createPrices(listed)
  const usage = { input: { total: 1_000_000 }, output: { total: 1_000_000 } }
  expect(prices.costOf({ upstream: 'any', model: 'claude-opus-5', usage })?.amount).toBe(30)
  expect(prices.costOf({ upstream: 'any', model: 'claude-opus-5-20270101', usage })?.amount).toBe(30)
  // Providers of open models have their own prices.
  expect(Object.keys(listed.models).some((name) => name.startsWith('groq/'))).toBe(true)
  const target = createTestContext({
    'modelgate.config.json': JSON.stringify({
      upstreams,
      models: { best: { upstream: 'claude', model: 'claude-opus-5' } },
    }),
    'prices.json': context.stdout(),
  })
  target.env.MODELGATE_PRICES = 'prices.json'
  expect(await target.run('prices', 'check')).toBe(0)
})

it('has two subcommands', async () => {
  const context = createTestContext()
  expect(await context.run('prices', 'chekc')).toBe(2)
  expect(context.stderr()).toContain("Unknown command 'prices chekc'. Did you mean 'check'?")
  const help = createTestContext()
  expect(await help.run('prices')).toBe(0)
  expect(help.stdout()).toContain('npx modelgate prices check')
})
