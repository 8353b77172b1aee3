// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables, as configurations name them
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as core from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { createTestContext } from '../terminal/command-context.test-support.ts'
import { loadFile } from './load-file.ts'

const esm = `import { defineConfig, openai, GatewayError } from 'modelgate'
import { anthropic } from '@modelgate/core'
export default defineConfig({
  upstreams: { a: openai({ apiKey: 'k' }), b: anthropic({ apiKey: 'k' }) },
  models: { '*': 'a' },
  auth: () => { throw new GatewayError('rate_limited', 'slower') },
})
`

describe('loadFile', () => {
  it.each([
    ['ts', `${esm}const typed: number = 1\nexport type T = typeof typed\n`],
    ['mts', `${esm}export const typed: number = 1\n`],
    ['js', esm],
    ['mjs', esm],
    [
      'cjs',
      `const { defineConfig, openai } = require('modelgate')\nmodule.exports = defineConfig({ upstreams: { a: openai({ apiKey: 'k' }) }, models: { '*': 'a' } })\n`,
    ],
    [
      'json',
      '\ufeff{ "$schema": "x", "upstreams": { "a": { "provider": "openai", "apiKey": "${KEY}" } }, "models": { "*": "a" } }',
    ],
  ])('finds and reads a .%s file without installed packages', async (end, text) => {
    const context = createTestContext({ [`modelgate.config.${end}`]: text }, { KEY: 'k' })
    const file = await loadFile(context)
    expect(file?.name).toBe(`modelgate.config.${end}`)
    const { upstreams, models } = (file?.config ?? {}) as { upstreams: Record<string, core.Upstream>; models: object }
    expect(upstreams.a?.headers).toEqual({ authorization: 'Bearer k' })
    expect(models).toEqual({ '*': 'a' })
    expect(file?.config).not.toHaveProperty('$schema')
  })

  it('lets a configuration throw the GatewayError class of the running program', async () => {
    const file = await loadFile(createTestContext({ 'modelgate.config.ts': esm }))
    const { auth } = (file?.config ?? {}) as { auth: () => void }
    expect(auth).toThrow(core.GatewayError)
  })

  it('reads the file and its imports again on each call', async () => {
    const context = createTestContext({
      'modelgate.config.ts': `import { port } from './port.ts'\nexport default { port }\n`,
      'port.ts': 'export const port: number = 1\n',
    })
    expect((await loadFile(context))?.config).toMatchObject({ port: 1 })
    context.write('port.ts', 'export const port: number = 2\n')
    expect((await loadFile(context))?.config).toMatchObject({ port: 2 })
  })

  describe.each([['module'], ['commonjs'], [undefined]])('in a package of type %s', (type) => {
    const typescript = { first: 'const port: number = ', rest: '\nexport default { port }\n' }
    const esModule = { first: 'const port = ', rest: '\nexport default { port }\n' }
    const commonJs = { first: 'const port = ', rest: '\nmodule.exports = { port }\n' }
    it.each([
      ['ts', typescript],
      ['mts', typescript],
      ['js', type === 'module' ? esModule : commonJs],
      ['mjs', esModule],
      ['cjs', commonJs],
      ['json', { first: '{ "port": ', rest: ' }' }],
    ])('reads a changed .%s file again, and rejects an invalid one', async (end, { first, rest }) => {
      const name = `modelgate.config.${end}`
      const context = createTestContext({
        [name]: `${first}1${rest}`,
        ...(type === undefined ? {} : { 'package.json': JSON.stringify({ type }) }),
      })
      expect((await loadFile(context))?.config).toMatchObject({ port: 1 })
      context.write(name, `${first}2${rest}`)
      expect((await loadFile(context))?.config).toMatchObject({ port: 2 })
      context.write(name, `${first}`)
      await expect(loadFile(context)).rejects.toThrow(name)
      context.write(name, `${first}3${rest}`)
      expect((await loadFile(context))?.config).toMatchObject({ port: 3 })
    })

    it.each([
      ['ts', 'ts'],
      ['mjs', 'mjs'],
      ['mjs', 'cjs'],
      ['ts', 'mjs'],
      ['ts', 'cjs'],
    ])('reloads a file that a .%s configuration imports as .%s', async (end, imported) => {
      const other = (port: number): string =>
        imported === 'cjs' ? `module.exports = ${port}\n` : `export default ${port}\n`
      const context = createTestContext({
        [`modelgate.config.${end}`]: `import port from './port.${imported}'\nexport default { port }\n`,
        [`port.${imported}`]: other(1),
        ...(type === undefined ? {} : { 'package.json': JSON.stringify({ type }) }),
      })
      expect((await loadFile(context))?.config).toMatchObject({ port: 1 })
      context.write(`port.${imported}`, other(2))
      expect((await loadFile(context))?.config).toMatchObject({ port: 2 })
    })

    it.each(
      ['ts', 'mts', 'mjs', ...(type === 'module' ? ['js'] : [])].flatMap((end) =>
        ['ts', 'mjs', 'cjs', 'js', 'json'].map((imported) => [end, imported] as const),
      ),
    )('reloads a file that a .%s configuration with top-level await imports as .%s', async (end, imported) => {
      const isCommonJs = imported === 'cjs' || (imported === 'js' && type !== 'module')
      const other = (port: number): string =>
        imported === 'json'
          ? `{ "port": ${port} }`
          : `${isCommonJs ? 'module.exports =' : 'export default'} { port: ${port} }\n`
      const context = createTestContext({
        [`modelgate.config.${end}`]: `import data from './port.${imported}'\nawait Promise.resolve()\nexport default { ...data }\n`,
        [`port.${imported}`]: other(1),
        ...(type === undefined ? {} : { 'package.json': JSON.stringify({ type }) }),
      })
      expect((await loadFile(context))?.config).toMatchObject({ port: 1 })
      context.write(`port.${imported}`, other(2))
      expect((await loadFile(context))?.config).toMatchObject({ port: 2 })
    })

    it.each([
      ['an imported module awaits', `import port from './a.mjs'\n`, `import port from './b.mjs'\nawait 0\n`],
      ['an import is dynamic', `const { default: port } = await import('./a.mjs')\n`, `import port from './b.mjs'\n`],
      [
        'two dynamic imports share a module',
        `const [{ default: port }] = await Promise.all([import('./a.mjs'), import('./b.mjs')])\n`,
        `import 'modelgate'\nimport port from './b.mjs'\n`,
      ],
      [
        'imports go round in a circle',
        `import port from './a.mjs'\nexport const zero = 0\n`,
        `import './modelgate.config.mjs'\nimport port from './b.mjs'\nawait 0\n`,
      ],
    ])('nested modules are read again where %s', async (_, first, second) => {
      const deepest = (port: number): string => `import { openai } from 'modelgate'\nexport default openai && ${port}\n`
      const context = createTestContext({
        'modelgate.config.mjs': `${first}export default { port }\n`,
        'a.mjs': `${second}export default port\n`,
        'b.mjs': deepest(1),
        ...(type === undefined ? {} : { 'package.json': JSON.stringify({ type }) }),
      })
      expect((await loadFile(context))?.config).toMatchObject({ port: 1 })
      context.write('b.mjs', deepest(2))
      expect((await loadFile(context))?.config).toMatchObject({ port: 2 })
    })

    it.each(['ts', 'mts', 'mjs'])('reloads a .%s file with top-level await', async (end) => {
      const text = (port: number): string => `const port = await Promise.resolve(${port})\nexport default { port }\n`
      const context = createTestContext({ [`modelgate.config.${end}`]: text(1) })
      expect((await loadFile(context))?.config).toMatchObject({ port: 1 })
      context.write(`modelgate.config.${end}`, text(2))
      expect((await loadFile(context))?.config).toMatchObject({ port: 2 })
    })
  })

  it('evaluates a module with top-level await once if two modules import it', async () => {
    const context = createTestContext({
      'modelgate.config.mjs': `import a from './a.mjs'\nimport b from './b.mjs'\nexport default { port: a === b ? 1 : 2 }\n`,
      'a.mjs': `export { default } from './shared.mjs'\n`,
      'b.mjs': `export { default } from './shared.mjs'\n`,
      'shared.mjs': `await 0\nexport default {}\n`,
    })
    expect((await loadFile(context))?.config).toMatchObject({ port: 1 })
  })

  it('awaits a promise as the default export, also in another folder', async () => {
    const context = createTestContext()
    mkdirSync(join(context.cwd, 'deep'))
    context.write('deep/other.mjs', 'export default Promise.resolve({ port: 3 })\n')
    expect(await loadFile(context, 'deep/other.mjs')).toMatchObject({
      name: join('deep', 'other.mjs'),
      config: { port: 3 },
    })
    expect(await loadFile(context)).toBeUndefined()
  })

  it.each([
    [{ 'modelgate.config.json': '{ "port": 1,\n  oops }' }, 'modelgate.config.json: invalid JSON: '],
    [{ 'modelgate.config.json': '{ "port": 1,\n  oops }' }, 'line 2 column 3'],
    [{ 'modelgate.config.json': '[]' }, 'modelgate.config.json: expected an object'],
    [
      { 'modelgate.config.json': '{ "token": "${NO_SUCH}" }' },
      'modelgate.config.json: token needs the environment variable NO_SUCH',
    ],
    [{ 'modelgate.config.js': 'export const config = {}\n' }, 'modelgate.config.js: '],
    [{ 'modelgate.config.ts': 'export default { port: \n' }, 'modelgate.config.ts: '],
    [{ 'modelgate.config.ts': `throw new Error('no luck')\nexport default {}\n` }, 'modelgate.config.ts: no luck'],
    [
      { 'modelgate.config.ts': `import { opnai } from 'modelgate'\nexport default { a: opnai({}) }\n` },
      "'opnai' is not a function. Did you mean 'openai'?",
    ],
    [
      { 'modelgate.config.cjs': `const { opnai } = require('@modelgate/core')\nmodule.exports = { a: opnai({}) }\n` },
      "'opnai' is not a function. Did you mean 'openai'?",
    ],
    [{ 'modelgate.config.ts': `import 'not-installed'\nexport default {}\n` }, 'not-installed'],
  ])('reports the file and the problem of %j', async (files, words) => {
    await expect(loadFile(createTestContext(files))).rejects.toThrow(words)
  })

  it.each([
    ['{\n  "token": sk-secret-0123456789,\n  "port": 1\n}', "Unexpected token 's' (line 2 column 12)"],
    ['{ "token": sk-secret-0123456789 }', "Unexpected token 's' (line 1 column 12)"],
    ['{ "token": sk-secret }', "Unexpected token 's'"],
  ])('reports invalid JSON without quoting text that could contain a key: %j', async (text, words) => {
    const error = await loadFile(createTestContext({ 'modelgate.config.json': text })).catch(String)
    expect(error).toContain(`modelgate.config.json: invalid JSON: ${words}`)
    expect(error).not.toContain('sk-')
  })

  it.each([
    ['none.json', "File 'none.json' does not exist"],
    ['config.yaml', "'config.yaml' is not a configuration file. Valid extensions: .ts, .mts, .js, .mjs, .cjs, .json."],
  ])('rejects the file name %s', async (named, words) => {
    await expect(loadFile(createTestContext({ 'config.yaml': '' }), named)).rejects.toThrow(words)
  })
})
