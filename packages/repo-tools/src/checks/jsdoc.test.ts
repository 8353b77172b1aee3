import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { readJson, root, workspaceDirs } from '../base/workspace.mjs'

const packages = workspaceDirs(['packages'])
  .map((dir) => ({ dir, manifest: readJson(`${dir}/package.json`) }))
  .filter(({ manifest }) => manifest.private !== true)

const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root)
const entryOf = (dir: string): string => join(root, dir, 'src/index.ts')
const program = ts.createProgram(
  packages.map(({ dir }) => entryOf(dir)),
  options,
)
const checker = program.getTypeChecker()

const original = (symbol: ts.Symbol): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

const docOf = (symbol: ts.Symbol): string => ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim()

/** Members that the package itself declares, with inline object types. */
function membersOf(symbol: ts.Symbol): ts.Symbol[] {
  const found: ts.Symbol[] = []
  const visit = (node: ts.Node): void => {
    const isMember = ts.isTypeElement(node) || ts.isPropertyDeclaration(node) || ts.isMethodDeclaration(node)
    const member = isMember && node.name ? checker.getSymbolAtLocation(node.name) : undefined
    if (member !== undefined) found.push(member)
    ts.forEachChild(node, visit)
  }
  for (const declaration of symbol.declarations ?? [])
    if (!ts.isFunctionDeclaration(declaration) && !ts.isVariableDeclaration(declaration)) visit(declaration)
  return found
}

/** Every exported name that is declared in its own package, with its members. */
const exported = packages.flatMap(({ dir, manifest }) => {
  const source = program.getSourceFile(entryOf(dir))
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${dir}/src/index.ts is not a module`)
  return checker
    .getExportsOfModule(module)
    .map((symbol) => ({ name: `${manifest.name}: ${symbol.name}`, symbol: original(symbol) }))
    .filter(({ symbol }) => symbol.declarations?.[0]?.getSourceFile().fileName.startsWith(join(root, dir, 'src')))
})

describe('the JSDoc of exported names', () => {
  it('covers every name', () => {
    expect(exported.length).toBeGreaterThan(200)
    expect(exported.filter(({ symbol }) => docOf(symbol) === '').map(({ name }) => name)).toEqual([])
  })

  it('consists of whole sentences: TypeScript ends a text before an @ that it reads as a tag', () => {
    const texts = exported.flatMap(({ name, symbol }) => [
      { name, doc: docOf(symbol) },
      ...membersOf(symbol).map((member) => ({ name: `${name}.${member.name}`, doc: docOf(member) })),
    ])
    const isWhole = (doc: string): boolean => doc === '' || (/[.!?)]$/.test(doc) && doc.split('`').length % 2 === 1)
    expect(texts.length).toBeGreaterThan(1_000)
    expect(texts.filter(({ doc }) => !isWhole(doc)).map(({ name }) => name)).toEqual([])
  })
})
