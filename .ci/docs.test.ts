import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { defaultLimits } from '../packages/core/src/check-config.ts'
import { codecs } from '../packages/core/src/formats/index.ts'
import { kindTable, statusTable } from './errors-document.ts'
import { answerPairs, answerTables, requestPairs, requestTables } from './formats-document.ts'
import { catalogTable, documentedMakers, lacksTable, quirkTable, valuesTable } from './upstreams-document.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const documents = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}/README.md`)
    .filter((file) => ts.sys.fileExists(join(root, file))),
]

/** What a fragment may take for granted; a block that declares the same name for itself wins. */
const prelude = `
declare const gateway: import('@modelgate/core').Gateway
declare const auth: import('@modelgate/core').Authenticate
declare const apiKey: string
declare const provider: import('@modelgate/testing').FakeProvider
declare const recordedBytes: Uint8Array
declare const app: import('express').Express & import('fastify').FastifyInstance & import('hono').Hono
`

interface Block {
  /** Where its first line stands, as an editor understands it. */
  place: string
  text: string
}

function codeBlocks(file: string): Block[] {
  const text = read(file)
  return [...text.matchAll(/^```(?:js|ts|javascript|typescript)\n(.*?)^```/gms)].map((found) => ({
    place: `${file}:${text.slice(0, found.index).split('\n').length + 1}`,
    text: found[1] ?? '',
  }))
}

/** What the compiler says of the blocks, each a module of its own that can import every package and host. */
function complaints(blocks: readonly Block[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root)
  // The conformance package depends on everything that documents import.
  const folder = join(root, 'packages/conformance/src')
  const files = new Map(blocks.map(({ text }, i) => [join(folder, `block-${i}.ts`), `${text}\nexport {}\n`]))
  files.set(join(folder, 'prelude.d.ts'), prelude)
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (name) => files.has(name) || fileExists(name)
  host.readFile = (name) => files.get(name) ?? readFile(name)
  host.getSourceFile = (name, version, ...rest) => {
    const text = files.get(name)
    return text === undefined ? getSourceFile(name, version, ...rest) : ts.createSourceFile(name, text, version)
  }
  const program = ts.createProgram(
    [...files.keys()],
    { ...options, noUnusedLocals: false, noUncheckedIndexedAccess: false },
    host,
  )
  return [...files.keys()].flatMap((name, i) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(name)).map(({ messageText, start }) => {
      const line = (files.get(name) ?? '').slice(0, start).split('\n').length
      return `${blocks[i]?.place ?? relative(root, name)} (line ${line} of the block): ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    }),
  )
}

/** The rows of the table between `<!-- name -->` and `<!-- /name -->`; UPDATE_DOCS=1 writes what the code says there. */
function tableIn(file: string, name: string, fromCode: string): string {
  const [open, close] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`]
  const text = read(file)
  const from = text.indexOf(open) + open.length
  const to = text.indexOf(close)
  expect(from > open.length - 1 && to >= from, `${file} has the marks of ${name}`).toBe(true)
  if (process.env.UPDATE_DOCS !== undefined)
    writeFileSync(join(root, file), `${text.slice(0, from)}${fromCode}${text.slice(to)}`)
  return process.env.UPDATE_DOCS === undefined ? text.slice(from, to) : fromCode
}

describe('the documents', () => {
  it('hold code that compiles', () => {
    const blocks = documents.flatMap(codeBlocks)
    expect(blocks.length).toBeGreaterThan(10)
    expect(complaints(blocks)).toEqual([])
  })

  it('would be caught with code that does not', () => {
    const text = "import { createGateway } from '@modelgate/core'\ncreateGateway({ auth: 'nobody' })\n"
    expect(complaints([{ place: 'here:1', text }])).toEqual([expect.stringContaining('here:1 (line 2 of the block)')])
  })

  it('link to files that are there', () => {
    const broken = documents.flatMap((file) =>
      [...read(file).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)]
        .map(([, link = '']) => join(root, file, '..', link))
        .filter((path) => !ts.sys.fileExists(path) && !ts.sys.directoryExists(path))
        .map((path) => `${file} → ${relative(root, path)}`),
    )
    expect(broken).toEqual([])
  })

  it('give the limits and defaults that the code has', () => {
    const rows = [...read('README.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, name, value]) => [
      name,
      Number(value),
    ])
    expect(Object.fromEntries(rows)).toEqual(defaultLimits)
  })
})

describe('docs/errors.md', () => {
  it('says what clients get for each kind of error', () => {
    const fromCode = kindTable()
    expect(tableIn('docs/errors.md', 'kinds', fromCode)).toBe(fromCode)
  })

  it('says what kind each status of an upstream is, and where a call goes on', async () => {
    const fromCode = await statusTable()
    expect(tableIn('docs/errors.md', 'statuses', fromCode)).toBe(fromCode)
  })
})

describe('docs/formats.md', () => {
  it.each([
    ['request-pairs', requestPairs],
    ['answer-pairs', answerPairs],
    ['requests', requestTables],
    ['answers', answerTables],
  ])('says in its %s what the codecs declare', (name, fromCodecs) => {
    const fromCode = fromCodecs(codecs)
    expect(tableIn('docs/formats.md', name, fromCode)).toBe(fromCode)
  })
})

describe('docs/upstreams.md', () => {
  it.each([
    ['catalog', catalogTable],
    ['quirks', quirkTable],
    ['lacks', lacksTable],
    ['values', valuesTable],
  ])('says in its %s what the makers return', (name, fromMakers) => {
    const fromCode = fromMakers()
    expect(tableIn('docs/upstreams.md', name, fromCode)).toBe(fromCode)
  })

  it('leaves no maker out', () => {
    const exported = [...read('packages/core/src/index.ts').matchAll(/^export \{(.*)\} from '\.\/upstreams\/.*'$/gm)]
    const makers = exported.flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
    expect(makers.filter((name) => !name.startsWith('type ')).sort()).toEqual([...documentedMakers].sort())
  })
})
