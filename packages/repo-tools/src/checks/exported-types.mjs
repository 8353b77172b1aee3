// Finds types that exported signatures mention, but that no package exports: users can neither name nor import them.
import { join } from 'node:path'
import ts from 'typescript'
import { readJson, root, workspaceDirs } from '../base/workspace.mjs'

/** @typedef {{ package: string, exported: string, type: string }} UnexportedType */

/** The declaration files that the sub-paths of a package's `exports` name. @param {string} dir @returns {string[]} */
function declarationFiles(dir) {
  /** @type {Set<string>} */
  const files = new Set()
  const collect = (/** @type {unknown} */ value) => {
    if (typeof value === 'string' && value.endsWith('.d.ts')) files.add(join(root, dir, value))
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect)
  }
  collect(readJson(`${dir}/package.json`).exports)
  return [...files]
}

/**
 * Reads built declarations, so the packages have to be built.
 *
 * @param {readonly { name: string, files: readonly string[] }[]} packages
 * @returns {UnexportedType[]}
 */
export function unexportedTypes(packages) {
  const program = ts.createProgram(
    packages.flatMap(({ files }) => files),
    {
      module: ts.ModuleKind.Node16,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      noEmit: true,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
      types: [],
    },
  )
  const checker = program.getTypeChecker()
  const own = new Set(program.getSourceFiles().filter(({ fileName }) => /\/packages\/[^/]+\/dist\//.test(fileName)))
  const resolve = (/** @type {ts.Symbol} */ symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

  const exports = packages.flatMap(({ name, files }) =>
    files.flatMap((file) => {
      const source = program.getSourceFile(file)
      const symbol = source && checker.getSymbolAtLocation(source)
      if (symbol === undefined) throw new Error(`${file} is not a module`)
      return checker.getExportsOfModule(symbol).map((one) => ({ package: name, name: one.name, symbol: resolve(one) }))
    }),
  )
  const exported = new Set(exports.map(({ symbol }) => symbol))

  /** @type {Map<ts.Symbol, UnexportedType>} */
  const found = new Map()
  const visit = (/** @type {ts.Node} */ node, /** @type {{ package: string, name: string }} */ from) => {
    if (ts.isIdentifier(node)) {
      const mentioned = checker.getSymbolAtLocation(node)
      const target = mentioned && resolve(mentioned)
      if (target !== undefined && isNamedType(target) && !exported.has(target) && !found.has(target)) {
        found.set(target, { package: from.package, exported: from.name, type: target.name })
        // Types that it mentions must be exported too.
        for (const declaration of target.declarations ?? []) visit(declaration, from)
      }
    }
    ts.forEachChild(node, (child) => visit(child, from))
  }
  for (const { symbol, ...from } of exports)
    for (const declaration of symbol.declarations ?? [])
      if (own.has(declaration.getSourceFile())) visit(declaration, from)
  return [...found.values()]

  /** A type at the top level of one of the packages. Type parameters and members are not. @param {ts.Symbol} symbol */
  function isNamedType(symbol) {
    const types = ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class | ts.SymbolFlags.Enum
    return Boolean(
      symbol.flags & types &&
        symbol.declarations?.some((one) => ts.isSourceFile(one.parent) && own.has(one.getSourceFile())),
    )
  }
}

/** The published packages with their declaration files. */
export const publishedPackages = () =>
  workspaceDirs(['packages'])
    .filter((dir) => readJson(`${dir}/package.json`).private !== true)
    .map((dir) => ({ name: readJson(`${dir}/package.json`).name, files: declarationFiles(dir) }))
