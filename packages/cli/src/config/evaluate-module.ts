import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createJiti, type Jiti, type JitiOptions, type TransformOptions } from 'jiti'

/** Virtual module through which compiled code finds the function that replaces its `import`. */
const importHook = 'modelgate:import-hook'

/** `jitiImport` is the parameter that stands for `import` in code compiled by jiti; a jiti without it keeps its own imports. */
const useImportHook = `"use strict";if(typeof jitiImport==="function"&&typeof jitiESMResolve==="function")jitiImport=require(${JSON.stringify(importHook)}).replace(__filename,jitiImport,jitiESMResolve);`

type Import = (id: string, ...rest: unknown[]) => Promise<unknown>
type Resolve = (id: string) => string

/**
 * Evaluates a file and everything it imports outside of `node_modules` again on each call, TypeScript included.
 *
 * Node caches ES modules for the life of the process. Compiled to CommonJS and evaluated synchronously, they are read again on each call;
 * top-level await needs the asynchronous way, where jiti leaves imports of `.mjs`, `.cjs` and ES modules in `.js` to Node. These imports
 * are therefore replaced.
 *
 * @param modules modules of this program, by the name under which files import them
 */
export async function evaluateModule(path: string, modules: Readonly<Record<string, object>>): Promise<unknown> {
  const { cache: commonJs } = createRequire(path)
  const before = new Set(Object.keys(commonJs))
  try {
    try {
      return createJiti(path, optionsOf(modules))(path)
    } catch (error) {
      if (!usesTopLevelAwait(error)) throw error
      return await evaluateAsync(path, modules)
    }
  } finally {
    for (const file of Object.keys(commonJs)) if (!before.has(file) && !isInstalled(file)) delete commonJs[file]
  }
}

const optionsOf = (modules: Readonly<Record<string, object>>): JitiOptions => ({
  moduleCache: false,
  fsCache: false,
  virtualModules: { ...modules },
  interopDefault: true,
})

const usesTopLevelAwait = (error: unknown): boolean =>
  error instanceof Error && error.name === 'SyntaxError' && /\bawait\b/.test(error.message)

const isInstalled = (file: string): boolean => /[\\/]node_modules[\\/]/.test(file)
const isCode = (file: string): boolean => /^\.[cm]?[jt]s$/.test(extname(file))

function evaluateAsync(root: string, modules: Readonly<Record<string, object>>): Promise<unknown> {
  const compiler: Jiti = createJiti(root, { fsCache: false, interopDefault: true })
  const cache: NonNullable<Parameters<Jiti['evalModule']>[1]>['cache'] = {}
  const started = new Map<string, Promise<unknown>>()
  /** The files on the way from the root to a file. */
  const importers = new Map<string, readonly string[]>()

  const load = (path: string, from: readonly string[]): Promise<unknown> => {
    // An import cycle: waiting for it would never end.
    if (from.includes(path)) return Promise.resolve(cache[path]?.exports)
    let evaluation = started.get(path)
    if (evaluation === undefined) {
      importers.set(path, [...from, path])
      // With the extension of an ES module in TypeScript jiti compiles the file; it would leave others to Node.
      evaluation = Promise.resolve(
        jiti.evalModule(readFileSync(path, 'utf8'), { filename: path, ext: '.mts', async: true, cache }),
      )
      started.set(path, evaluation)
    }
    return evaluation
  }
  const replace = (importer: string, original: Import, resolve: Resolve): Import =>
    async function importAgain(id, ...rest) {
      const path = ownFile(id, resolve)
      return path === undefined ? original(id, ...rest) : load(path, importers.get(importer) ?? [])
    }
  const jiti: Jiti = createJiti(root, {
    ...optionsOf({ ...modules, [importHook]: { replace } }),
    transform: (options: TransformOptions) => ({ code: useImportHook + compiler.transform(options) }),
  })
  return load(root, [])
}

/** The file that an import stands for, if it is code outside of `node_modules`. */
function ownFile(id: string, resolve: Resolve): string | undefined {
  if (!/^(\.{0,2}[\\/]|file:)/.test(id)) return undefined
  const found = resolve(id)
  const path = found.startsWith('file:') ? fileURLToPath(found) : found
  return isCode(path) && !isInstalled(path) ? path : undefined
}
