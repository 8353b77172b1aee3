import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createGateway } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { envProviders } from '../config/env-providers.ts'
import { readSettings } from '../config/settings.ts'
import { createTestContext } from '../terminal/command-context.test-support.ts'

const everyKey = {
  ...Object.fromEntries(envProviders.map(({ environment }) => [environment.apiKey[0], 'k'])),
  AZURE_OPENAI_ENDPOINT: 'https://r.openai.azure.com',
  AWS_REGION: 'us-east-1',
}

describe.each(['ts', 'js', 'json'])('--%s', (kind) => {
  it.each([
    ['every key', everyKey],
    ['one key', { ANTHROPIC_API_KEY: 'k' }],
    ['a key without a chat', { VOYAGE_API_KEY: 'k' }],
  ])('is a configuration that can be, with %s', async (_, env) => {
    // Code reads the environment of the process.
    const before = { ...process.env }
    Object.assign(process.env, env)
    try {
      const context = createTestContext({}, { ...env })
      expect(await context.run('init', `--${kind}`)).toBe(0)
      expect(readdirSync(context.cwd)).toEqual([`modelgate.config.${kind}`])
      const settings = await readSettings(context, {})
      expect(settings.notes).toEqual([])
      expect(Object.keys(settings.gateway.upstreams).sort()).toEqual(
        envProviders
          .filter(({ environment }) => environment.apiKey.some((key) => Object.hasOwn(env, key)))
          .map(({ name }) => name)
          .sort(),
      )
      createGateway(settings.gateway)
      await settings.resources.close()
    } finally {
      for (const name of Object.keys(env)) delete process.env[name]
      Object.assign(process.env, before)
    }
  })

  it('names variables and holds no key', async () => {
    const context = createTestContext({}, { OPENAI_API_KEY: 'sk-secret' })
    await context.run('init', `--${kind}`)
    const text = readFileSync(join(context.cwd, `modelgate.config.${kind}`), 'utf8')
    expect(text).toContain('OPENAI_API_KEY')
    expect(text + context.said()).not.toContain('sk-secret')
  })
})

it('says what to do next', async () => {
  const context = createTestContext()
  await context.run('init')
  expect(context.said()).toContain('Wrote modelgate.config.js.\n')
  expect(context.said()).toContain('1. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, or take out')
  expect(context.said()).toMatch(/2\. npx modelgate check +asks each upstream/)
})

it('finds keys in .env, and writes TypeScript where there is some', async () => {
  const context = createTestContext({ '.env': 'GROQ_API_KEY=k\n', 'tsconfig.json': '{}' })
  await context.run('init')
  expect(context.said()).toContain('Wrote modelgate.config.ts for GROQ_API_KEY.')
  expect(readFileSync(join(context.cwd, 'modelgate.config.ts'), 'utf8')).toContain(
    "'groq/*': { upstream: 'groq', model: '*' }",
  )
})

describe('a file that is there', () => {
  it('stays, unless it is to be written over', async () => {
    const context = createTestContext({ 'modelgate.config.js': 'mine' })
    expect(await context.run('init', '--js')).toBe(1)
    expect(context.complained()).toBe('modelgate: modelgate.config.js is there already: --force writes over it\n')
    expect(readFileSync(join(context.cwd, 'modelgate.config.js'), 'utf8')).toBe('mine')
    expect(await context.run('init', '--js', '--force')).toBe(0)
    expect(readFileSync(join(context.cwd, 'modelgate.config.js'), 'utf8')).toContain('defineConfig')
  })

  it('under another ending is no reason for two', async () => {
    const context = createTestContext({ 'modelgate.config.ts': 'mine' })
    expect(await context.run('init', '--json', '--force')).toBe(1)
    expect(context.complained()).toContain('modelgate.config.ts is there already')
  })
})
