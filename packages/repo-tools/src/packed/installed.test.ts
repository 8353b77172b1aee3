// Tests the packages as users have them: npm installs their tarballs into empty folders outside of this repository, with the lowest
// and with the newest versions of their peers.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readJson } from '../base/workspace.mjs'
import { newProject, type Project } from './project.mjs'
import { type PackedRegistry, packedRegistry } from './registry.mjs'

const user = (file: string) => readFileSync(fileURLToPath(new URL(`users/${file}`, import.meta.url)), 'utf8')
const programs = {
  'use-packages.cjs': user('use-packages.cjs'),
  'main.mjs': user('main.mjs'),
  'main.cjs': user('main.cjs'),
}

let registry: PackedRegistry
/** The supported version ranges of each peer: `^4.18.0 || ^5.0.0` are two. */
let ranges: Map<string, string[]>
const projects: Project[] = []

beforeAll(async () => {
  registry = await packedRegistry()
  const peers = registry.packages.flatMap(({ manifest }) => Object.entries(Object(manifest.peerDependencies)))
  ranges = new Map(peers.map(([name, range]) => [name, String(range).split(' || ')]))
  // Not a peer; runs Hono on Node.
  ranges.set('@hono/node-server', ['^1.0.0', '^2.0.0'])
})
afterAll(async () => {
  for (const project of projects) project.remove()
  await registry.close()
})

const lowest = (range: string) => range.replace('^', '')

const all = () => registry.packages.map(({ name }) => name)

/** Timeout in milliseconds of an npm install on a busy machine. */
const ample = 240_000

async function install(name: string, own: string[], beside: [string, string][], more: string[] = []): Promise<Project> {
  const project = newProject(name, programs, registry)
  projects.push(project)
  await project.npm('install', ...own, ...beside.map(([peer, version]) => `${peer}@${version}`), ...more)
  return project
}

/** Tests these versions with an ES module and a CommonJS program. */
async function used(project: Project, own: string[], beside: [string, string][]): Promise<string[][]> {
  const installed = ['node:http', ...own, ...beside.map(([name]) => name)]
  const outputs = await Promise.all(['main.mjs', 'main.cjs'].map((file) => project.run('node', [file, ...installed])))
  return outputs.map((lines) => lines.trim().split('\n'))
}

/** Options of a strict user's TypeScript. */
const compilerOptions = (moduleResolution: string) => {
  const isNode = moduleResolution !== 'bundler'
  return {
    strict: true,
    exactOptionalPropertyTypes: true,
    // Types of dependencies count too, because ours use them.
    skipLibCheck: false,
    target: 'ES2022',
    // One program with the DOM types, two with Node's types only.
    lib: isNode ? ['ES2023'] : ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    module: isNode ? moduleResolution : 'ESNext',
    moduleResolution,
    esModuleInterop: true,
    types: ['node'],
    outDir: 'out',
  }
}

const hosts = (names: string[]) =>
  names.flatMap((name) => ['', '/ai'].map((path) => `${name}${path}: JSON, stream, abort`))
const everything = [
  ...hosts(['node:http', 'express', 'fastify', 'hono']),
  ...['@ai-sdk/openai', 'aws4fetch', 'google-auth-library', 'gpt-tokenizer'].map((name) => `${name}: used`),
  'modelgate: defineConfig',
]

describe('with the newest versions of peers', () => {
  const { devDependencies } = readJson('package.json')
  let project: Project
  let beside: [string, string][]

  beforeAll(async () => {
    beside = [...ranges].map(([name, parts]) => [name, parts.at(-1) as string])
    const types = ['typescript', '@types/node'].map((name) => `${name}@${devDependencies[name]}`)
    project = await install('newest', all(), beside, [...types, '@types/express@5'])
  }, ample)

  it('work for ES modules and CommonJS', async () => {
    for (const output of await used(project, all(), beside)) expect(output).toEqual(everything)
  })

  it.each(['node16', 'nodenext', 'bundler'])(
    'their types resolve with moduleResolution %s',
    async (moduleResolution) => {
      const use = user('use.mts')
      const folder = `ts-${moduleResolution}`
      project.write({
        [`${folder}/use.mts`]: use,
        // CommonJS too; one Node version stands for all.
        ...(moduleResolution === 'node16' ? { [`${folder}/use.cts`]: use } : {}),
        [`${folder}/tsconfig.json`]: {
          compilerOptions: compilerOptions(moduleResolution),
        },
        // With these options, the declaration files of AI SDK have errors.
        [`${folder}-ai-sdk/use-ai-sdk.mts`]: user('use-ai-sdk.mts'),
        [`${folder}-ai-sdk/tsconfig.json`]: {
          compilerOptions: { ...compilerOptions(moduleResolution), skipLibCheck: true },
        },
      })
      await project.run(join('node_modules', '.bin', 'tsc'), ['-p', `${folder}-ai-sdk`])
      await project.run(join('node_modules', '.bin', 'tsc'), ['-p', folder])
      for (const file of moduleResolution === 'node16' ? ['use.mjs', 'use.cjs'] : ['use.mjs'])
        expect(await project.run('node', [join(folder, 'out', file)])).toBe('typed true\n')
    },
  )

  it('have no dependency with a known vulnerability', async () => {
    const audit = await project.run('npm', ['audit', '--omit=dev', '--json']).catch((error: Error) => error.message)
    // Some registry mirrors do not support audits.
    if (/audit endpoint returned an error|ENOAUDIT/.test(audit))
      console.log('npm audit: left out, the registry answers none')
    else expect(JSON.parse(audit.slice(audit.indexOf('{'))).metadata.vulnerabilities.total).toBe(0)
  })
})

it(
  'with the lowest versions that they say they run with, they do their work',
  async () => {
    const beside = [...ranges].map(([name, [first]]): [string, string] => [name, lowest(first as string)])
    // It has no peers and many dependencies.
    const own = all().filter((name) => name !== '@modelgate/conformance')
    for (const output of await used(await install('lowest', own, beside), own, beside))
      expect(output).toEqual(everything)
  },
  ample,
)

it.each([
  ['newest versions of the older range', (older: string, _newer: string) => older],
  ['lowest versions of the newer range', (_older: string, newer: string) => lowest(newer)],
])(
  'with the %s, where there are two, they do their work',
  async (_name, pick) => {
    // The newer packages of AI SDK require Node 22; the tests above use both ranges.
    const two = [...ranges].filter(([name, parts]) => parts.length === 2 && !name.startsWith('@ai-sdk/'))
    const beside = two.map(([name, [older = '', newer = '']]): [string, string] => [name, pick(older, newer)])
    expect(beside.map(([name]) => name)).toEqual(['express', '@hono/node-server'])
    beside.push(['hono', '^4.0.0'])
    // engine-strict: without Fastify no dependency may require a newer Node.
    const own = all().filter((name) => !/conformance|fastify|ai-sdk/.test(name))
    for (const output of await used(await install('between', own, beside, ['--engine-strict']), own, beside))
      expect(output).toEqual([...hosts(['node:http', 'express', 'hono']), 'modelgate: defineConfig'])
  },
  ample,
)
