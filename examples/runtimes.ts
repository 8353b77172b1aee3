import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install, pins } from '@modelgate/conformance/test-support'
import { root } from '@modelgate/repo-tools/workspace'

/** Returns the program of a runtime; undefined, with a message, if it cannot be installed here. */
export async function runtime(name: string): Promise<string | undefined> {
  const pin = pins.find((pin) => pin.name === name)
  if (pin === undefined) throw new Error(`no runtime '${name}' among ${pins.map(({ name }) => name).join(', ')}`)
  const installed = await install(pin, join(root, 'packages/conformance/node_modules/.cache/installed-runtimes'))
  if ('program' in installed) return installed.program
  console.warn(`left out: the example for ${pin.title}: ${installed.absent}`)
  return undefined
}

/** The used part of esbuild, a dependency of the conformance suite. */
interface Bundler {
  build(options: Readonly<Record<string, unknown>>): Promise<unknown>
}

/**
 * Builds an example for Workers like wrangler: one file, and the settings of wrangler.jsonc as workerd's configuration.
 *
 * @param mainFile replaces the main file of wrangler.jsonc
 * @returns workerd's configuration file
 */
export async function bundledWorker(name: string, folder: string, mainFile?: string): Promise<string> {
  const source = fileURLToPath(new URL(name, import.meta.url))
  const { build } = createRequire(join(root, 'packages/conformance/package.json'))('esbuild') as Bundler
  const text = readFileSync(join(source, 'wrangler.jsonc'), 'utf8').replace(/^\s*\/\/.*$/gm, '')
  const { main, compatibility_date, compatibility_flags } = JSON.parse(text) as Readonly<{
    main: string
    compatibility_date: string
    compatibility_flags: string[]
  }>
  await build({
    entryPoints: [join(source, mainFile ?? main)],
    outfile: join(folder, 'worker.mjs'),
    bundle: true,
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    // Optional dependencies of core are not among the example's dependencies, but exist in this workspace.
    external: ['cloudflare:*', 'node:*', 'google-auth-library', 'gpt-tokenizer', 'aws4fetch'],
    logLevel: 'error',
  })
  const file = join(folder, 'workerd.capnp')
  writeFileSync(
    file,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = (
      modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
      compatibilityDate = "${compatibility_date}",
      compatibilityFlags = ${JSON.stringify(compatibility_flags)},
    )),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "gateway")],
);
`,
  )
  return file
}
