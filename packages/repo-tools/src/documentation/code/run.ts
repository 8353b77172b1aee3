import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import ts from 'typescript'
import { root } from '../../base/workspace.mjs'
import { startFakeProviders } from '../../packed/fake-providers.mjs'
import { type Block, blocksIn, filesBefore, isCode, read } from '../pages.mjs'

/** Every package that pages import resolves from this folder. */
const conformance = join(root, 'packages/conformance')

/** Sources of the prelude values of run-blocks.mjs. */
const means = `
export { anthropic, createGateway, gemini, openai } from '@modelgate/core'
export { nodeListener } from '@modelgate/node'
export { createFakeProvider } from '@modelgate/testing'
export { default as express } from 'express'
`

/** Environment variables that pages expect their readers to have. */
const environment = {
  ...Object.fromEntries(
    ['OPENAI', 'ANTHROPIC', 'GEMINI', 'GOOGLE', 'GROQ', 'OPENROUTER'].map((name) => [
      `${name}_API_KEY`,
      `key-of-${name}`,
    ]),
  ),
  ...Object.fromEntries(
    ['TOKEN', 'GATEWAY_TOKEN', 'MODELGATE_TOKEN', 'AWS_BEARER_TOKEN_BEDROCK'].map((name) => [name, 'my-token']),
  ),
  ADMIN_KEY: 'key-of-the-admin',
}

export const needsRedis = ({ text }: Block): boolean => /from 'redis'|from 'ioredis'/.test(text)

/** Returns true for code that runs here: neither marked as exempt nor run by the examples. */
export const runs = (block: Block): boolean => isCode(block) && block.mark === undefined

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
}

/** Converts a file of a page to one that Node can run; returns name and text. */
function runnable(name: string, block: Block): [string, string] {
  if (!/\.[cm]?tsx?$/.test(name)) return [name, block.text]
  return [name.replace(/ts(x?)$/, 'js'), ts.transpileModule(block.text, { compilerOptions: options }).outputText]
}

/** Writes the files that a reader has before the block, and the block; returns the job for run-blocks.mjs. */
function job(block: Block, files: ReadonlyMap<string, Block>, cwd: string) {
  const put = (name: string, text: string): void => {
    const path = join(cwd, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const shown = (page: string): string =>
    JSON.stringify(JSON.parse(blocksIn(read(page), page).find(({ language }) => language === 'json')?.text ?? '{}'))
  put('prices.json', shown('docs/guide/prices.md'))
  put('ledger/2026-11-21.4711-1f0c5a9be2d7.jsonl', `${shown('docs/guide/ledger.md')}\n`)
  put('models.json', '{ "models": { "gpt-*": "openai" } }')
  for (const [name, file] of files) put(...runnable(name, file))
  const typed = block.language.startsWith('t')
  const [entry, text] = runnable(block.file ?? (typed ? 'fragment.ts' : 'fragment.js'), block)
  put(entry, text)
  return {
    cwd,
    entry: join(cwd, entry),
    fragment: block.file === undefined,
    mounts: /expressMiddleware|fastifyPlugin|honoMiddleware|nodeListener|gateway\.fetch/.test(block.text),
    prefixes: [
      '',
      ...[...block.text.matchAll(/(?:basePath|prefix): '([^']+)'/g)].map(([, prefix]) => prefix ?? ''),
      '/ai',
    ],
    declared: [...block.text.matchAll(/^declare (?:const|let|function) (\w+)/gm)].map(([, name]) => name),
    runtime: /\b(Bun|Deno)\.serve\b/.exec(block.text)?.[1],
    env: { ...environment, ...parseEnv(files.get('.env')?.text ?? '') },
  }
}

interface Result {
  faults: string[]
  calls: number
}

/** A child process that runs one block at a time. */
function start(folder: string, env: Record<string, string>) {
  const script = fileURLToPath(new URL('run-blocks.mjs', import.meta.url))
  let child: ChildProcess | undefined
  let output = ''
  const born = async (): Promise<ChildProcess> => {
    const one = spawn(process.execPath, [script, join(folder, 'means.mjs')], {
      cwd: folder,
      env: { ...process.env, ...env, NODE_ENV: 'development' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const hear = (chunk: Buffer): void => {
      output += chunk.toString()
    }
    one.stdout?.on('data', hear)
    one.stderr?.on('data', hear)
    await new Promise<void>((resolve, reject) => {
      one.once('message', () => resolve())
      one.once('exit', () => reject(new Error(`the process for blocks does not start:\n${output}`)))
    })
    return one
  }
  return {
    async run(task: object): Promise<Result> {
      const one = child ?? (await born())
      child = one
      output = ''
      return new Promise((resolve) => {
        const gone = (code: number | null): void => {
          child = undefined
          clearTimeout(patience)
          const what = code === null ? 'it does not come to an end' : `the process ended (${code}) within it`
          resolve({ faults: [`${what}; it printed: ${output.slice(-500)}`], calls: 0 })
        }
        const patience = setTimeout(() => one.kill('SIGKILL'), 60_000)
        one.once('exit', gone)
        one.once('message', (result) => {
          clearTimeout(patience)
          one.off('exit', gone)
          resolve(result as Result)
        })
        one.send(task)
      })
    },
    end: () => child?.disconnect(),
  }
}

/**
 * Runs code blocks, two at a time, each in an empty folder with local fake providers. Returns the problems and the number of called
 * servers. `all` holds all blocks of the pages, for the files before each block.
 */
export async function run(
  blocks: readonly Block[],
  all: readonly Block[] = blocks,
  ports: Record<number, number> = {},
): Promise<{ complaints: string[]; calls: number }> {
  const folder = join(conformance, 'node_modules/.cache', `pages-${randomUUID()}`)
  mkdirSync(join(folder, 'node_modules/@modelgate'), { recursive: true })
  // Packages that conformance does not depend on.
  symlinkSync(join(root, 'packages/cli'), join(folder, 'node_modules/modelgate'), 'junction')
  symlinkSync(conformance, join(folder, 'node_modules/@modelgate/conformance'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'means.mjs'), means)
  const home = await startFakeProviders({ ports })
  const complaints: string[] = []
  let calls = 0
  const queue = [...blocks.flatMap((block) => filesBefore(block, all).map((files) => ({ block, files }))).entries()]
  const take = async (): Promise<void> => {
    const child = start(folder, home.env)
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [i, { block, files }] = next
      const result = await child.run(job(block, files, join(folder, String(i))))
      calls += result.calls
      complaints.push(...result.faults.map((fault) => `${block.place}: ${fault}`))
    }
    child.end()
  }
  try {
    await Promise.all([take(), take()])
  } finally {
    await home.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { complaints, calls }
}
