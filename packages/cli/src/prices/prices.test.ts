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
  const config = { upstreams, models, ...(prices === undefined ? {} : { prices: { models: prices } }) }
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

it('has one subcommand', async () => {
  const context = createTestContext()
  expect(await context.run('prices', 'chekc')).toBe(2)
  expect(context.stderr()).toContain("Unknown command 'prices chekc'. Did you mean 'check'?")
  const help = createTestContext()
  expect(await help.run('prices')).toBe(0)
  expect(help.stdout()).toContain('npx modelgate prices check')
})
