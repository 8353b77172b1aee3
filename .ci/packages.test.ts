import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Manifest {
  name: string
  private?: boolean
  sideEffects?: boolean
  exports: { '.': object }
  publishConfig: { access: string; exports: object }
}

const packages = readdirSync(join(root, 'packages'))
  .map((dir) => ({ dir: join(root, 'packages', dir), manifest: readManifest(join(root, 'packages', dir)) }))
  .filter(({ manifest }) => manifest.private !== true)

function readManifest(dir: string): Manifest {
  return JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest
}

/** The names that a build exports to a Node of its own. */
const exported = (dir: string, type: 'module' | 'commonjs', load: string): string[] =>
  JSON.parse(
    execFileSync(
      process.execPath,
      [`--input-type=${type}`, '-e', `${load} console.log(JSON.stringify(Object.keys(m).sort()))`],
      {
        cwd: dir,
        encoding: 'utf8',
      },
    ),
  )

/** What a user's compiler says of imports of every package, resolved as Node does it. */
function complaints(extension: 'mts' | 'cts'): string[] {
  const folder = join(root, 'packages/conformance/src')
  const file = join(folder, `user.${extension}`)
  const text = packages.map(
    ({ manifest }, i) => `import * as m${i} from '${manifest.name}'\nexport type T${i} = keyof typeof m${i}\n`,
  )
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.readFile = (name) => (name === file ? text.join('') : readFile(name))
  host.getSourceFile = (name, target, ...rest) =>
    name === file ? ts.createSourceFile(name, text.join(''), target) : getSourceFile(name, target, ...rest)
  const program = ts.createProgram([file], options, host)
  const own = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName === file || fileName.includes('/dist/index.d.'))
  expect(own.length).toBe(packages.length + 1)
  return own
    .filter(({ fileName }) => fileName === file || fileName.startsWith(join(root, 'packages')))
    .flatMap((source) => ts.getPreEmitDiagnostics(program, source))
    .map(({ file: at, messageText }) => `${at?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
}

describe.each(packages)('$manifest.name', ({ dir, manifest }) => {
  it('publishes its builds and nothing of its sources', () => {
    const { '@modelgate/source': source, ...published } = manifest.exports['.'] as { '@modelgate/source': string }
    expect(source).toBe('./src/index.ts')
    expect(manifest.publishConfig).toEqual({ access: 'public', exports: { '.': published } })
    expect(JSON.stringify(manifest.publishConfig)).not.toContain('src')
    expect(manifest.sideEffects).toBe(false)
  })

  it('gives import and require the same names', () => {
    const names = exported(dir, 'module', "import * as m from './dist/index.js';")
    expect(names.length).toBeGreaterThan(0)
    expect(exported(dir, 'commonjs', "const m = require('./dist/index.cjs');")).toEqual(names)
  })
})

it.each(['mts', 'cts'] as const)('types resolve for a user who writes .%s', (extension) => {
  expect(complaints(extension)).toEqual([])
})
