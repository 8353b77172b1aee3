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
    ['a key of a provider without chat', { VOYAGE_API_KEY: 'k' }],
  ])('writes a valid configuration with %s', async (_, env) => {
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

  it('names variables and contains no key', async () => {
    const context = createTestContext({}, { OPENAI_API_KEY: 'sk-secret' })
    await context.run('init', `--${kind}`)
    const text = readFileSync(join(context.cwd, `modelgate.config.${kind}`), 'utf8')
    expect(text).toContain('OPENAI_API_KEY')
    expect(text + context.stdout()).not.toContain('sk-secret')
  })
})

it('prints the next steps', async () => {
  const context = createTestContext()
  await context.run('init')
  expect(context.stdout()).toContain('Wrote modelgate.config.js.\n')
  expect(context.stdout()).toContain('1. Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, or remove')
  expect(context.stdout()).toMatch(/2\. npx modelgate check +tests the configuration/)
})

it('finds keys in .env, and writes TypeScript in a TypeScript project', async () => {
  const context = createTestContext({ '.env': 'GROQ_API_KEY=k\n', 'tsconfig.json': '{}' })
  await context.run('init')
  expect(context.stdout()).toContain('Wrote modelgate.config.ts for GROQ_API_KEY.')
  expect(readFileSync(join(context.cwd, 'modelgate.config.ts'), 'utf8')).toContain(
    "'groq/*': { upstream: 'groq', model: '*' }",
  )
})

describe('an existing file', () => {
  it('is kept unless --force is set', async () => {
    const context = createTestContext({ 'modelgate.config.js': 'mine' })
    expect(await context.run('init', '--js')).toBe(1)
    expect(context.stderr()).toBe('modelgate: modelgate.config.js already exists. Use --force to overwrite it.\n')
    expect(readFileSync(join(context.cwd, 'modelgate.config.js'), 'utf8')).toBe('mine')
    expect(await context.run('init', '--js', '--force')).toBe(0)
    expect(readFileSync(join(context.cwd, 'modelgate.config.js'), 'utf8')).toContain('defineConfig')
  })

  it('with another extension prevents a second configuration', async () => {
    const context = createTestContext({ 'modelgate.config.ts': 'mine' })
    expect(await context.run('init', '--json', '--force')).toBe(1)
    expect(context.stderr()).toContain('modelgate.config.ts already exists')
  })
})
