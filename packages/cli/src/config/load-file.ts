import { existsSync, readFileSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import * as core from '@modelgate/core'
import { inFile } from '../errors.ts'
import { nearest } from '../near.ts'
import { shownPath } from '../shown-path.ts'
import type { World } from '../world.ts'
import { dataUpstreams } from './data-upstreams.ts'
import { defineConfig } from './define-config.ts'
import { expand } from './expand.ts'
import { isRecord } from './is-record.ts'
import { type ReportProblem, throwProblem } from './problem-list.ts'

/** Names under which a configuration is found, in this order. */
export const fileNames = ['ts', 'mts', 'js', 'mjs', 'cjs', 'json'].map((end) => `modelgate.config.${end}`)

/** A configuration as its file has it, its upstreams made. */
export interface LoadedFile {
  readonly path: string
  /** As it is said to people. */
  readonly name: string
  readonly config: Readonly<Record<string, unknown>>
}

/**
 * The configuration file that is named, or the one in the working directory. Undefined if there is none; throws an Error that names
 * the file.
 *
 * @param report receives problems that do not keep the rest of the file from being read
 */
export async function loadFile(
  world: World,
  named?: string,
  report: ReportProblem = throwProblem,
): Promise<LoadedFile | undefined> {
  const path = findFile(world.cwd, named)
  if (path === undefined) return undefined
  const name = shownPath(world.cwd, path)
  try {
    const config = extname(path) === '.json' ? readJson(path, world, report) : await importFile(path)
    if (!isRecord(config))
      throw new Error(
        extname(path) === '.json'
          ? 'it is no object: write { "upstreams": …, "models": … }'
          : 'it has no configuration as its default export: write `export default defineConfig({ … })`',
      )
    return { path, name, config }
  } catch (error) {
    throw inFile(name, error)
  }
}

/** Where the configuration is; undefined if there is none. */
export function findFile(cwd: string, named?: string): string | undefined {
  if (named === undefined) return fileNames.map((file) => join(cwd, file)).find((file) => existsSync(file))
  const path = resolve(cwd, named)
  if (!existsSync(path)) throw new Error(`there is no file '${named}': \`init\` writes a configuration`)
  const ends = fileNames.map((file) => extname(file))
  if (!ends.includes(extname(path))) throw new Error(`'${named}' is no configuration: it ends in ${ends.join(', ')}`)
  return path
}

function readJson(path: string, { env }: World, report: ReportProblem): unknown {
  const text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (error) {
    throw new Error(`it is no JSON: ${error instanceof Error ? withLine(error.message, text) : ''}`)
  }
  if (!isRecord(data)) return data
  const { $schema: _, ...written } = data
  const config = expand(written, env, report) as Record<string, unknown>
  return config.upstreams === undefined ? config : { ...config, upstreams: dataUpstreams(config.upstreams, report) }
}

/**
 * Node tells the position in a text as a number; or it quotes what is there, with ten letters before and behind, among which there
 * may be a key.
 */
function withLine(message: string, text: string): string {
  const [, said = message, cut, piece = '', more] =
    /^(.*?), (\.\.\.)?"(.*)"(\.\.\.)? is not valid JSON$/s.exec(message) ?? []
  const quotedAt = cut !== undefined ? 10 : more !== undefined ? piece.length - 10 : undefined
  const at = quotedAt === undefined ? /position (\d+)/.exec(said)?.[1] : text.indexOf(piece) + quotedAt
  if (at === undefined || said.includes('line ')) return said
  const before = text.slice(0, Number(at)).split('\n')
  return `${said} (line ${before.length} column ${(before.at(-1)?.length ?? 0) + 1})`
}

/**
 * Evaluates a file and its imports again on each call: reloads depend on it. Imports of this package and of its own packages resolve to
 * the modules of the running program, so they need not be installed beside the file, and `instanceof GatewayError` holds.
 */
async function importFile(path: string): Promise<unknown> {
  const { evaluateModule } = await import('./evaluate-module.ts')
  const modules = await ownModules()
  const found = await evaluateModule(path, modules).catch((error: unknown) => {
    throw withMisspelledName(error, modules)
  })
  if (!isRecord(found)) return found
  if ('default' in found) return found.default
  // An own mark: jiti's interop shows one for CommonJS modules too.
  const isEsModule = Object.hasOwn(found, '__esModule') || Object.prototype.toString.call(found) === '[object Module]'
  return isEsModule ? undefined : found
}

const ownModules = async (): Promise<Record<string, object>> => ({
  modelgate: { ...core, defineConfig },
  '@modelgate/core': core,
  '@modelgate/console': await import('@modelgate/console'),
  '@modelgate/node': await import('@modelgate/node'),
  '@modelgate/tokens': await import('@modelgate/tokens'),
})

/** A misspelled import is undefined until it is called: the compiled code's message names a variable that nobody wrote. */
function withMisspelledName(error: unknown, modules: Readonly<Record<string, object>>): unknown {
  if (!(error instanceof TypeError)) return error
  const [, imported, plain] = /^(?:\(0 ?, ?\w+\.(\w+)\)|(\w+)) is not a function$/.exec(error.message) ?? []
  const name = imported ?? plain
  const exported = Object.values(modules).flatMap((exports) => Object.keys(exports))
  if (name === undefined || exported.includes(name)) return error
  const near = nearest(name, exported)
  const fix = near === undefined ? '' : `. Did you mean '${near}'?`
  return new Error(`'${name}' is not a function${fix}`, { cause: error })
}
