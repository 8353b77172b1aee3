import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Options } from 'tsup'
import { describe, expect, it } from 'vitest'
import { readJson, workspaceDirs } from '../base/workspace.mjs'

const packages = fileURLToPath(new URL('../../..', import.meta.url))
const core = join(packages, 'core')

type Esbuild = Parameters<NonNullable<Options['esbuildPlugins']>[number]['setup']>[0]['esbuild']
const { build } = createRequire(new URL('../../../conformance/package.json', import.meta.url))('esbuild') as Esbuild

/**
 * Bundles the build like a user's bundler; returns the files loaded at start and their imported packages.
 *
 * @param names the exports that an application imports. Default: all of them
 */
async function startOf(dir: string, entry: string, names?: readonly string[]) {
  const contents = `export { ${names?.join(', ')} } from './${entry}'`
  const { metafile, outputFiles = [] } = await build({
    ...(names === undefined
      ? { entryPoints: [join(dir, entry)] }
      : { stdin: { contents, resolveDir: dir, sourcefile: 'application.js' } }),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    external: ['node:*'],
    packages: 'external',
    minify: true,
    metafile: true,
    write: false,
    outdir: join(dir, 'bundle'),
    absWorkingDir: dir,
    logLevel: 'silent',
  })
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]))
  const outputs = new Map(Object.entries(metafile?.outputs ?? {}).map(([path, output]) => [basename(path), output]))
  const reached = new Set<string>()
  const packages = new Set<string>()
  const follow = (name: string): void => {
    if (reached.has(name)) return
    reached.add(name)
    for (const { path, kind, external } of outputs.get(name)?.imports ?? []) {
      if (kind !== 'import-statement') continue
      if (external === true) packages.add(path)
      else follow(basename(path))
    }
  }
  follow(names === undefined ? basename(entry) : 'stdin.js')
  const gzipped = [...reached].reduce((sum, name) => sum + gzipSync(files.get(name) as Uint8Array).length, 0)
  const later = [...outputs.values()].flatMap(({ imports }) => imports.filter(({ external }) => external === true))
  return { gzipped, files: reached.size, packages: [...packages], later: new Set(later.map(({ path }) => path)) }
}

/** Maximum size in bytes of a package's own code at import, minified and gzipped. Raise it deliberately. */
const ceilings = {
  'core/dist/index.js': 75_500,
  'node/dist/index.js': 14_500,
  'express/dist/index.js': 700,
  'fastify/dist/index.js': 1_500,
  'hono/dist/index.js': 1_000,
  'hono/dist/node.js': 2_000,
  'tokens/dist/index.js': 45_500,
  // The pages are strings in the package, see decision 0017.
  'console/dist/index.js': 125_000,
  'otel/dist/index.js': 7_000,
  'ai-sdk/dist/index.js': 2_000,
  'testing/dist/index.js': 70_500,
  'conformance/dist/index.js': 35_000,
  'cli/dist/index.js': 300,
}

it.each(Object.entries(ceilings))('%s adds at most %i bytes to a bundle', async (file, ceiling) => {
  const [dir = '', ...entry] = file.split('/')
  const { gzipped } = await startOf(join(packages, dir), entry.join('/'))
  expect(gzipped).toBeLessThanOrEqual(ceiling)
  // A ceiling far above the size would not detect growth.
  expect(gzipped).toBeGreaterThan(ceiling / 4)
})

it('every public package has a ceiling', () => {
  const dirs = workspaceDirs(['packages']).filter((dir) => readJson(`${dir}/package.json`).private !== true)
  const known = Object.keys(ceilings).map((file) => `packages/${file.split('/')[0]}`)
  expect(dirs.filter((dir) => !known.includes(dir))).toEqual([])
})

/** Bundles a Worker with the settings of wrangler. Optional peers are left out, as they are if they are not installed. */
async function workerOf(contents: string): Promise<Uint8Array> {
  const { outputFiles = [] } = await build({
    stdin: { contents, resolveDir: core, sourcefile: 'worker.js' },
    bundle: true,
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['aws4fetch', 'google-auth-library', 'gpt-tokenizer'],
    minify: true,
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.contents as Uint8Array
}

describe('a Worker', () => {
  // docs/operate/runtimes.md states both sizes.
  it.each([
    ['chat', 100_000],
    ['index', 360_000],
  ])('with createGateway and openai of %s has at most %i bytes', async (entry, ceiling) => {
    const worker = await workerOf(`import { createGateway, openai } from './dist/${entry}.js'
      const upstreams = { openai: openai({ apiKey: 'k' }) }
      export default { fetch: createGateway({ auth: 'none', upstreams, models: { '*': 'openai' } }).fetch }`)
    const gzipped = gzipSync(worker).length
    expect(gzipped).toBeLessThanOrEqual(ceiling)
    expect(gzipped).toBeGreaterThan(ceiling * 0.9)
  })

  it('with @modelgate/core/chat serves a call, with everything in one file', async () => {
    const worker = await workerOf(`import { createGateway, openai } from './dist/chat.js'
      const gateway = createGateway({
        auth: 'none',
        upstreams: { openai: openai({ apiKey: 'k' }) },
        models: { m: 'openai' },
        fetch: async () => Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [
          { index: 0, message: { role: 'assistant', content: 'passed' }, finish_reason: 'stop' } ] }),
      })
      const post = (path) => gateway.fetch('http://gateway' + path, {
        method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }) })
      for (const path of ['/v1/chat/completions', '/v1/messages']) console.log(await (await post(path)).text())`)
    const output = execFileSync(process.execPath, ['--input-type=module'], { input: worker, encoding: 'utf8' })
    expect(output).toContain('passed')
    expect(output).toContain("Import createGateway from '@modelgate/core'")
  })
})

describe('the import of core', () => {
  // Bundlers leave out the factories of providers that an application does not import: an eighth of the whole.
  it.each([
    [['createGateway'], 66_400],
    [['createGateway', 'openai', 'anthropic', 'gemini'], 68_400],
  ])('of %j adds at most %i bytes to a bundle', async (names, ceiling) => {
    const { gzipped } = await startOf(core, 'dist/index.js', names)
    expect(gzipped).toBeLessThanOrEqual(ceiling)
    expect(gzipped).toBeGreaterThan(ceiling / 2)
  })

  it('loads few files', async () => {
    const { files } = await startOf(core, 'dist/index.js')
    expect(files).toBeLessThanOrEqual(3)
  })

  it('loads no other package', async () => {
    const { packages, later } = await startOf(core, 'dist/index.js')
    expect(packages).toEqual([])
    // With the first stream. The others are optional peers.
    expect([...later].sort()).toEqual([
      'aws4fetch',
      'eventsource-parser',
      'google-auth-library',
      'gpt-tokenizer/encoding/o200k_base',
    ])
  })
})

describe.each([
  ['import', 'module', "import * as core from './dist/index.js'"],
  ['require', 'commonjs', "const core = require('./dist/index.cjs')"],
] as const)('lazily loaded modules', (word, type, load) => {
  it(`are found by programs that ${word} core`, () => {
    const script = `${load}
      const answer = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn',
        content: [{ type: 'text', text: 'translated' }], usage: { input_tokens: 1, output_tokens: 1 } }
      const gateway = core.createGateway({
        auth: 'none',
        upstreams: { claude: core.anthropic({ apiKey: 'k' }) },
        models: { m: 'claude' },
        fetch: async () => Response.json(answer),
      })
      const post = (path, body) => gateway.fetch('http://gateway' + path, {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
      const run = async () => {
        const chat = await post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'x' }] })
        const embeddings = await post('/v1/embeddings', { model: 'm' })
        const unknown = await post('/v1beta/models/other:generateContent', { contents: [] })
        console.log(await chat.text(), await embeddings.text(), await unknown.text())
      }
      run()`
    const output = execFileSync(process.execPath, [`--input-type=${type}`, '-e', script], {
      cwd: core,
      encoding: 'utf8',
    })
    expect(output).toContain('translated')
    expect(output).toContain("Missing required parameter: 'input'")
    expect(output).toContain('"status":"NOT_FOUND"')
  })
})
