import { join, relative } from 'node:path'
import ts from 'typescript'
import { root } from '../../base/workspace.mjs'
import { type Block, filesBefore, isCode } from '../pages.mjs'

/** Declarations available to fragments; a declaration in the block wins. run-blocks.mjs provides the values. */
const prelude = `
declare const gateway: import('@modelgate/core').Gateway
declare const auth: import('@modelgate/core').Authenticate
declare const apiKey: string
declare const upstreams: { openai: import('@modelgate/core').Upstream; claude: import('@modelgate/core').Upstream }
declare const models: { 'gpt-*': 'openai'; 'claude-*': 'claude' }
declare const provider: import('@modelgate/testing').FakeProvider
declare const recordedBytes: Uint8Array
type Handler = (request: Request) => Response | Promise<Response>
declare const Bun: { serve(options: { port?: number; hostname?: string; idleTimeout?: number; fetch: Handler }): unknown }
declare const Deno: { serve(options: { port?: number; hostname?: string }, handler: Handler): unknown }
declare const app: import('express').Express
`

/** The conformance package depends on every package that the documentation imports. */
const folder = join(root, 'packages/conformance/src')

/** JavaScript blocks are type-checked too. */
const asTypeScript = (file: string): string => file.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')

/** Compiles code blocks, each as a module that can import every package and the other files of its page; returns the errors. */
export function complaints(blocks: readonly Block[]): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root)
  const files = new Map<string, string>([[join(folder, 'prelude.d.ts'), prelude]])
  const places = new Map<string, string>()
  blocks.forEach((block, i) => {
    if (!isCode(block) || block.mark?.kind === 'shown only' || block.mark?.kind === 'from') return
    filesBefore(block, blocks).forEach((before, path) => {
      const place = join(folder, `block-${i}-${path}`)
      for (const [name, { text }] of before) files.set(join(place, asTypeScript(name)), text)
      const extension = block.language.endsWith('x') ? 'tsx' : 'ts'
      const name = join(place, asTypeScript(block.file ?? `fragment.${extension}`))
      files.set(name, `${block.text}\nexport {}\n`)
      places.set(name, block.place)
    })
  })
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile, directoryExists } = host
  host.fileExists = (name) => files.has(name) || fileExists(name)
  host.readFile = (name) => files.get(name) ?? readFile(name)
  host.directoryExists = (name) => name.startsWith(join(folder, 'block-')) || (directoryExists?.(name) ?? true)
  host.getSourceFile = (name, version, ...rest) => {
    const text = files.get(name)
    return text === undefined ? getSourceFile(name, version, ...rest) : ts.createSourceFile(name, text, version)
  }
  const program = ts.createProgram(
    [join(folder, 'prelude.d.ts'), ...places.keys()],
    {
      ...options,
      noUnusedLocals: false,
      noUncheckedIndexedAccess: false,
      // Packages that conformance does not depend on.
      paths: {
        modelgate: [join(root, 'packages/cli/src/index.ts')],
        libsql: [join(root, 'packages/tokens/node_modules/libsql')],
        '@modelgate/conformance': [join(root, 'packages/conformance/src/index.ts')],
      },
    },
    host,
  )
  return [...places].flatMap(([name, place]) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(name)).map(({ messageText, start }) => {
      const line = (files.get(name) ?? '').slice(0, start).split('\n').length
      return `${place || relative(root, name)} (line ${line} of the block): ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    }),
  )
}
