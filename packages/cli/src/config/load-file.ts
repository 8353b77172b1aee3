import { existsSync, readFileSync } from 'node:fs'
import { extname, join, resolve } from 'node:path'
import * as core from '@modelgate/core'
import type { CommandContext } from '../terminal/command-context.ts'
import { nearest } from '../terminal/did-you-mean.ts'
import { inFile } from '../terminal/errors.ts'
import { displayPath } from '../terminal/format.ts'
import { dataUpstreams } from './data-upstreams.ts'
import { defineConfig } from './define-config.ts'
import { expand, isRecord } from './expand.ts'
import { type ReportProblem, throwProblem } from './problem-list.ts'

/** File names of configurations, in the order in which they are looked up. */
export const fileNames = ['ts', 'mts', 'js', 'mjs', 'cjs', 'json'].map((end) => `modelgate.config.${end}`)

/** The configuration of a file, with upstreams created. */
export interface LoadedFile {
  readonly path: string
  /** The path for messages. */
  readonly name: string
  readonly config: Readonly<Record<string, unknown>>
}

/**
 * Loads the named configuration file, or the one in the working directory. Returns undefined if there is none; throws an Error that
 * names the file.
 *
 * @param report receives problems after which reading continues
 */
export async function loadFile(
  context: CommandContext,
  named?: string,
  report: ReportProblem = throwProblem,
): Promise<LoadedFile | undefined> {
  const path = findFile(context.cwd, named)
  if (path === undefined) return undefined
  const name = displayPath(context.cwd, path)
  try {
    const config = extname(path) === '.json' ? readJson(path, context, report) : await importFile(path)
    if (!isRecord(config))
      throw new Error(
        extname(path) === '.json'
          ? 'expected an object { "upstreams": …, "models": … }'
          : 'the default export is not a configuration: write `export default defineConfig({ … })`',
      )
    return { path, name, config }
  } catch (error) {
    throw inFile(name, error)
  }
}

/** Returns the path of the configuration file; undefined if there is none. */
export function findFile(cwd: string, named?: string): string | undefined {
  if (named === undefined) return fileNames.map((file) => join(cwd, file)).find((file) => existsSync(file))
  const path = resolve(cwd, named)
  if (!existsSync(path)) throw new Error(`File '${named}' does not exist. \`modelgate init\` writes a configuration.`)
  const ends = fileNames.map((file) => extname(file))
  if (!ends.includes(extname(path)))
    throw new Error(`'${named}' is not a configuration file. Valid extensions: ${ends.join(', ')}.`)
  return path
}

function readJson(path: string, { env }: CommandContext, report: ReportProblem): unknown {
  const text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (error) {
    throw new Error(`invalid JSON: ${error instanceof Error ? withLineNumber(error.message, text) : ''}`)
  }
  if (!isRecord(data)) return data
  const { $schema: _, ...written } = data
  const config = expand(written, env, report) as Record<string, unknown>
  return config.upstreams === undefined ? config : { ...config, upstreams: dataUpstreams(config.upstreams, report) }
}

/**
 * Adds line and column to a message of JSON.parse. Node either reports an offset or quotes ten characters before and after the position;
 * the quoted text is removed because it can contain a key.
 */
function withLineNumber(message: string, text: string): string {
  const [, reason = message, cut, piece = '', more] =
    /^(.*?), (\.\.\.)?"(.*)"(\.\.\.)? is not valid JSON$/s.exec(message) ?? []
  const quotedAt = cut !== undefined ? 10 : more !== undefined ? piece.length - 10 : undefined
  const at = quotedAt === undefined ? /position (\d+)/.exec(reason)?.[1] : text.indexOf(piece) + quotedAt
  if (at === undefined || reason.includes('line ')) return reason
  const before = text.slice(0, Number(at)).split('\n')
  return `${reason} (line ${before.length} column ${(before.at(-1)?.length ?? 0) + 1})`
}

/**
 * Evaluates a file and its imports again on each call: reloads depend on it. Imports of this package and of its own packages resolve to
 * the modules of the running program, so they need not be installed beside the file, and `instanceof GatewayError` holds.
 */
async function importFile(path: string): Promise<unknown> {
  const { evaluateModule } = await import('./evaluate-module.ts')
  const modules = await packageModules()
  const found = await evaluateModule(path, modules).catch((error: unknown) => {
    throw withMisspelledName(error, modules)
  })
  if (!isRecord(found)) return found
  if ('default' in found) return found.default
  // Only an own property counts: jiti's interop inherits one for CommonJS modules too.
  const isEsModule = Object.hasOwn(found, '__esModule') || Object.prototype.toString.call(found) === '[object Module]'
  return isEsModule ? undefined : found
}

const packageModules = async (): Promise<Record<string, object>> => ({
  modelgate: { ...core, defineConfig },
  '@modelgate/core': core,
  '@modelgate/console': await import('@modelgate/console'),
  '@modelgate/node': await import('@modelgate/node'),
  '@modelgate/tokens': await import('@modelgate/tokens'),
})

/** A misspelled import is undefined until it is called: the compiled code's message names a generated variable. */
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
