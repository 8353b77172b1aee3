// Reads the import graph of a package's sources, type imports and dynamic imports included. Tests and their support files are
// excluded: a test may import any layer.
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'
import ts from 'typescript'
import { filesBelow, root } from '../base/workspace.mjs'

/** @typedef {{ readonly from: string, readonly to: string, readonly names: readonly string[] }} Edge `from` imports `names` of `to` */
/** @typedef {{ readonly files: readonly string[], readonly edges: readonly Edge[] }} Graph files are relative to `src` */
/** @typedef {{ readonly entries: readonly string[], readonly holds: string }} Layer top-level entries of `src`; `*`: all other files */

const isSource = (/** @type {string} */ file) =>
  /\.[cm]?[jt]sx?$/.test(file) && !/\.d\.ts$|\.(?:test|test-support|test-entry|test-d)\.[jt]sx?$/.test(file)

/** @param {string} name folder below `packages` @returns {Graph} */
export function readGraph(name) {
  const source = `packages/${name}/src`
  const files = filesBelow(source)
    .map((file) => file.slice(source.length + 1))
    .filter(isSource)
  const known = new Set(files)
  const edges = files.flatMap((from) =>
    importsOf(readFileSync(join(root, source, from), 'utf8'), from).flatMap(({ specifier, names }) => {
      const to = resolve(from, specifier, known)
      return to === undefined || to === from ? [] : [{ from, to, names }]
    }),
  )
  return { files, edges }
}

/** @param {string} from @param {string} specifier @param {ReadonlySet<string>} known */
function resolve(from, specifier, known) {
  if (!specifier.startsWith('.')) return undefined
  const path = normalize(join(dirname(from), specifier))
  return [path, path.replace(/\.js$/, '.ts'), `${path}.ts`, `${path}/index.ts`].find((file) => known.has(file))
}

/**
 * @param {string} text @param {string} file
 * @returns {{ readonly specifier: string, readonly names: readonly string[] }[]}
 */
export function importsOf(text, file) {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  /** @type {{ specifier: string, names: string[] }[]} */
  const found = []
  /** @param {ts.Node} node */
  const visit = (node) => {
    const specifier = specifierOf(node)
    if (specifier !== undefined) found.push({ specifier, names: namesOf(node) })
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

/** @param {ts.Node} node */
function specifierOf(node) {
  /** @type {ts.Node | undefined} */
  let found
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) found = node.moduleSpecifier
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) found = node.argument.literal
  else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) found = node.arguments[0]
  return found !== undefined && ts.isStringLiteralLike(found) ? found.text : undefined
}

/** @param {ts.Node} node */
function namesOf(node) {
  if (ts.isImportDeclaration(node)) {
    const { name, namedBindings } = node.importClause ?? {}
    const named = namedBindings && ts.isNamedImports(namedBindings) ? namedBindings.elements.map(nameOf) : []
    const all = namedBindings && ts.isNamespaceImport(namedBindings) ? ['*'] : []
    return [...(name === undefined ? [] : ['default']), ...named, ...all]
  }
  if (ts.isExportDeclaration(node))
    return node.exportClause && ts.isNamedExports(node.exportClause) ? node.exportClause.elements.map(nameOf) : ['*']
  return ['import()']
}

/** @param {ts.ImportSpecifier | ts.ExportSpecifier} specifier */
const nameOf = ({ propertyName, name }) => (propertyName ?? name).text

/**
 * Sets of files that import each other, directly or not (Tarjan's algorithm).
 * @param {Graph} graph
 * @returns {string[][]}
 */
export function cyclesIn({ files, edges }) {
  /** @type {Map<string, string[]>} */
  const targets = new Map(files.map((file) => [file, []]))
  for (const { from, to } of edges) targets.get(from)?.push(to)
  /** @type {Map<string, number>} */
  const order = new Map()
  /** @type {Map<string, number>} */
  const lowest = new Map()
  /** @type {string[]} */
  const path = []
  /** @type {string[][]} */
  const cycles = []
  /** @param {string} file */
  const visit = (file) => {
    const index = order.size
    order.set(file, index)
    lowest.set(file, index)
    path.push(file)
    for (const target of targets.get(file) ?? []) {
      if (!order.has(target)) visit(target)
      if (path.includes(target)) lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(target) ?? 0))
    }
    if (lowest.get(file) !== index) return
    const members = path.splice(path.indexOf(file))
    if (members.length > 1) cycles.push(members)
  }
  for (const file of files) if (!order.has(file)) visit(file)
  return cycles
}

/** The top-level entry of `src` that a file belongs to. @param {string} file */
const entryOf = (file) => file.split('/')[0] ?? file

/** @param {Graph} graph @returns {string[]} */
export const entriesOf = ({ files }) => [...new Set(files.map(entryOf))].sort()

/**
 * @param {readonly Layer[]} layers @param {string} file
 * @returns {number} the layer's place in the order; -1: no layer
 */
export function layerOf(layers, file) {
  const entry = entryOf(file)
  const named = layers.findIndex(({ entries }) => entries.includes(entry))
  return named >= 0 || entry !== file ? named : layers.findIndex(({ entries }) => entries.includes('*'))
}

/** Imports of a higher layer. @param {Graph} graph @param {readonly Layer[]} layers */
export const upwardImports = ({ edges }, layers) =>
  edges.filter(({ from, to }) => layerOf(layers, from) < layerOf(layers, to))

/** @param {Edge} edge */
export const describeEdge = ({ from, to, names }) => `${from} imports ${names.join(', ')} from ${to}`

/** @type {Readonly<Record<string, readonly Layer[]>>} by package, lowest layer first */
export const layersOf = JSON.parse(readFileSync(new URL('layers.json', import.meta.url), 'utf8'))
