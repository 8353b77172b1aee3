import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type FunctionComponent, isValidElement } from 'preact'

/** Static replacements of the hooks: tests see the first render only; browser tests cover updates. */
const stillHooks = `
  export const useState = (first) => [typeof first === 'function' ? first() : first, () => undefined]
  export const useRef = (current) => ({ current })
  export const useMemo = (make) => make()
  export const useEffect = () => undefined
`

/** Loads a component from a file in this folder, compiled as in the build. */
export async function componentOf<P>(file: string, name: string): Promise<FunctionComponent<P>> {
  const entry = fileURLToPath(new URL(file, import.meta.url))
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
    plugins: [
      {
        name: 'still-hooks',
        setup(build) {
          build.onResolve({ filter: /^preact\/hooks$/ }, ({ path }) => ({ path, namespace: 'still' }))
          build.onLoad({ filter: /.*/, namespace: 'still' }, () => ({ contents: stillHooks, loader: 'js' }))
        },
      },
    ],
  })
  const code = Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')
  const made = (await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)) as Record<string, unknown>
  return made[name] as FunctionComponent<P>
}

/** A rendered component as a tree of tags, for components with static hooks. */
export interface Element {
  readonly tag: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly children: readonly Node[]
}
export type Node = string | Element

export function rendered(node: unknown): readonly Node[] {
  if (node === null || node === undefined || typeof node === 'boolean') return []
  if (typeof node === 'string' || typeof node === 'number') return [String(node)]
  if (Array.isArray(node)) return node.flatMap(rendered)
  if (!isValidElement(node)) throw new Error(`not to be rendered: ${JSON.stringify(node)}`)
  const { type, props } = node
  if (typeof type === 'function') return rendered((type as (given: unknown) => unknown)(props))
  const { children, ...attributes } = props as Record<string, unknown>
  return [{ tag: String(type), attributes, children: rendered(children) }]
}

export const elementsIn = (nodes: readonly Node[]): readonly Element[] =>
  nodes.flatMap((node) => (typeof node === 'string' ? [] : [node, ...elementsIn(node.children)]))

export const textOf = (nodes: readonly Node[]): string =>
  nodes
    .map((node) => (typeof node === 'string' ? node : `${textOf(node.children)}${blocks.has(node.tag) ? '\n' : ''}`))
    .join('')

const blocks = new Set(['p', 'li', 'td', 'th', 'pre', 'br', 'h3', 'h4', 'h5', 'h6', 'figcaption'])

/** Formats the tree in short: `ul(li(a) li(b))`. */
export const outline = (nodes: readonly Node[]): string =>
  nodes
    .map((node) => (typeof node === 'string' ? node : `${node.tag}(${outline(node.children)})`))
    .join(' ')
    .replace(/\s+/g, ' ')
