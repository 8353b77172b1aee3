import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { root } from '../workspace.mjs'
import { read } from './blocks.mjs'

/** A member of an interface. An inline object type has members of its own. */
export interface Member {
  /** Name with its `?`, or with the parameters of a method. */
  name: string
  type: string
  doc: string
  members: Member[]
}

export interface Signature {
  text: string
  parameters: { name: string; doc: string }[]
  returns: string
}

/** An exported name; or, with kind `named`, a type that exported signatures mention. */
export interface Entry {
  name: string
  kind: 'function' | 'value' | 'class' | 'options' | 'type' | 'named'
  doc: string
  throws: string[]
  signatures: Signature[]
  /** Definition of a type without members. */
  definition: string
  /** The `extends` clause. */
  heritage: string
  members: Member[]
  /** Folder of the declaring package. */
  home: string
}

export interface PackageApi {
  folder: string
  name: string
  description: string
  entries: Entry[]
}

/** Folders of published packages with exports. */
const publicFolders = (): string[] =>
  readdirSync(join(root, 'packages')).filter((folder) => {
    const manifest = `packages/${folder}/package.json`
    if (!existsSync(join(root, manifest)) || !existsSync(join(root, `packages/${folder}/src/index.ts`))) return false
    return JSON.parse(read(manifest)).private !== true
  })

const printer = ts.createPrinter({ removeComments: true })
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
const print = (node: ts.Node): string => printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())

/** Reads the exported names of every public package with their declarations and JSDoc. */
export function readApi(): PackageApi[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root)
  const folders = publicFolders()
  const entryOf = (folder: string): string => join(root, 'packages', folder, 'src/index.ts')
  const program = ts.createProgram(folders.map(entryOf), options)
  const checker = program.getTypeChecker()
  const modules = folders.map((folder) => {
    const source = program.getSourceFile(entryOf(folder))
    const module = source && checker.getSymbolAtLocation(source)
    return module === undefined ? [] : checker.getExportsOfModule(module)
  })
  const exported = new Set(modules.flat().map((symbol) => origin(symbol, checker)))
  return folders.map((folder, i) => {
    const { name, description = '' } = JSON.parse(read(`packages/${folder}/package.json`))
    const own = modules[i] ?? []
    const named = namedBy(own, exported, folder, checker)
    const entries = [
      ...own.map((symbol) => entry(checker, symbol)),
      ...named.map((symbol): Entry => ({ ...entry(checker, symbol), kind: 'named' })),
    ]
    return { folder, name, description, entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)) }
  })
}

const origin = (symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

/** Finds types that exports mention but no package exports: readers need them too. */
function namedBy(
  symbols: readonly ts.Symbol[],
  exported: ReadonlySet<ts.Symbol>,
  folder: string,
  checker: ts.TypeChecker,
): ts.Symbol[] {
  const found = new Set<ts.Symbol>()
  const look = (node: ts.Node): void => {
    if (ts.isBlock(node)) return
    if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
      const name = ts.isTypeReferenceNode(node) ? node.typeName : node.expression
      const local = checker.getSymbolAtLocation(name)
      const symbol = local && origin(local, checker)
      if (symbol !== undefined && !exported.has(symbol) && !found.has(symbol) && isTypeOf(symbol, folder)) {
        found.add(symbol)
        symbol.declarations?.forEach(look)
      }
    }
    ts.forEachChild(node, look)
  }
  for (const symbol of symbols)
    origin(symbol, checker)
      .declarations?.filter((node) => inFolder(node, folder))
      .forEach(look)
  return [...found]
}

const inFolder = (node: ts.Node, folder: string): boolean =>
  node.getSourceFile().fileName.startsWith(join(root, 'packages', folder, 'src'))

const isTypeOf = ({ declarations = [] }: ts.Symbol, folder: string): boolean =>
  declarations.some(
    (node) => (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) && inFolder(node, folder),
  )

function entry(checker: ts.TypeChecker, exported: ts.Symbol): Entry {
  const symbol = origin(exported, checker)
  const [declaration] = symbol.declarations ?? []
  if (declaration === undefined) throw new Error(`${exported.name} is declared nowhere`)
  const file = declaration.getSourceFile().fileName
  const tags = symbol.getJsDocTags(checker)
  const shared = {
    name: exported.name,
    doc: docOf(symbol, checker),
    throws: tags.filter(({ name }) => name === 'throws').map(({ text }) => plain(ts.displayPartsToString(text))),
    signatures: [],
    definition: '',
    heritage: '',
    members: [],
    home: /packages\/([^/]+)\/src\//.exec(file)?.[1] ?? '',
  }
  if (ts.isInterfaceDeclaration(declaration)) {
    const heritage = (declaration.heritageClauses ?? []).flatMap(({ types }) => types.map(print)).join(', ')
    return { ...shared, kind: kindOfType(exported.name), heritage, members: membersOf(declaration.members, checker) }
  }
  if (ts.isTypeAliasDeclaration(declaration)) {
    const { type } = declaration
    const inner = ts.isTypeLiteralNode(type) ? membersOf(type.members, checker) : []
    const parameters = declaration.typeParameters?.map(print).join(', ')
    const head = `type ${exported.name}${parameters === undefined ? '' : `<${parameters}>`} = `
    return {
      ...shared,
      kind: kindOfType(exported.name),
      members: inner,
      definition: inner.length > 0 ? '' : head + print(type),
    }
  }
  if (ts.isClassDeclaration(declaration)) {
    const heritage = (declaration.heritageClauses ?? []).flatMap(({ types }) => types.map(print)).join(', ')
    const type = checker.getTypeOfSymbol(symbol)
    const made = type.getConstructSignatures().map((one) => signature(`new ${exported.name}`, one, checker))
    const open = declaration.members.filter(
      (member) => !ts.isConstructorDeclaration(member) && !isHidden(member),
    ) as readonly ts.ClassElement[]
    return { ...shared, kind: 'class', heritage, signatures: made, members: membersOf(open, checker) }
  }
  const type = checker.getTypeOfSymbolAtLocation(symbol, declaration)
  const calls = type.getCallSignatures()
  if (calls.length > 0)
    return { ...shared, kind: 'function', signatures: calls.map((one) => signature(exported.name, one, checker)) }
  const definition = `const ${exported.name}: ${checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation)}`
  return { ...shared, kind: 'value', definition }
}

const kindOfType = (name: string): 'options' | 'type' => (/(?:Options|Config)$/.test(name) ? 'options' : 'type')

const isHidden = (member: ts.ClassElement): boolean =>
  (ts.getCombinedModifierFlags(member) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0 ||
  (member.name !== undefined && ts.isPrivateIdentifier(member.name))

const docOf = (symbol: ts.Symbol, checker: ts.TypeChecker): string => {
  const defaults = symbol.getJsDocTags(checker).filter(({ name }) => name === 'default')
  const told = defaults.map(({ text }) => `Default ${plain(ts.displayPartsToString(text))}.`)
  return [plain(ts.displayPartsToString(symbol.getDocumentationComment(checker))), ...told].filter(Boolean).join(' ')
}

/** Removes `{@link}`; the page links all names itself. */
const plain = (text: string): string => text.replaceAll(/\{@link (\S+?)(?: [^}]*)?\}/g, '`$1`').trim()

/** Returns a parameter's name for readers; a destructured parameter is `options`. */
function parameterOf({ name, questionToken, initializer, dotDotDotToken, type }: ts.ParameterDeclaration) {
  const optional = questionToken !== undefined || initializer !== undefined ? '?' : ''
  return {
    label: `${dotDotDotToken ? '...' : ''}${ts.isIdentifier(name) ? name.text : 'options'}${optional}`,
    type: type === undefined ? undefined : oneLine(print(type)),
  }
}

function signature(name: string, call: ts.Signature, checker: ts.TypeChecker): Signature {
  const flags = ts.TypeFormatFlags.NoTruncation
  const generic = call.declaration?.typeParameters?.map((node) => oneLine(print(node))).join(', ')
  const parameters = call.getParameters().map((symbol) => {
    const [declaration] = symbol.declarations ?? []
    const known = declaration !== undefined && ts.isParameter(declaration) ? parameterOf(declaration) : undefined
    const type = known?.type ?? checker.typeToString(checker.getTypeOfSymbol(symbol), undefined, flags)
    return { name: known?.label ?? symbol.name, type, doc: docOf(symbol, checker) }
  })
  const given = call.declaration?.type
  const result = given === undefined || ts.isJSDocSignature(given as ts.Node) ? undefined : oneLine(print(given))
  const type = result ?? checker.typeToString(call.getReturnType(), undefined, flags)
  const head = `${name}${generic === undefined ? '' : `<${generic}>`}`
  const list = parameters.map((one) => `${one.name}: ${one.type}`)
  const short = `${head}(${list.join(', ')})`
  const open = short.length > 110 ? `${head}(\n${list.map((one) => `  ${one},\n`).join('')})` : short
  const returns = call.getJsDocTags().find((tag) => tag.name === 'returns')
  return {
    text: name.startsWith('new ') ? open : `${open}: ${type}`,
    parameters: parameters.map(({ name, doc }) => ({ name: name.replace(/\?$/, ''), doc })),
    returns: plain(ts.displayPartsToString(returns?.text)),
  }
}

function membersOf(nodes: readonly (ts.TypeElement | ts.ClassElement)[], checker: ts.TypeChecker): Member[] {
  return nodes.map((node) => {
    const symbol = node.name && checker.getSymbolAtLocation(node.name)
    const name = node.name === undefined ? '' : print(node.name)
    const optional = 'questionToken' in node && node.questionToken !== undefined ? '?' : ''
    const shared = { doc: symbol === undefined ? '' : docOf(symbol, checker), members: [] }
    if (ts.isMethodSignature(node) || ts.isMethodDeclaration(node) || ts.isCallSignatureDeclaration(node)) {
      const list = node.parameters.map(parameterOf).map(({ label, type }) => `${label}: ${type ?? 'unknown'}`)
      const type = node.type === undefined ? 'void' : oneLine(print(node.type))
      return { ...shared, name: `${name}${optional}(${list.join(', ')})`, type }
    }
    if (ts.isIndexSignatureDeclaration(node)) {
      const [key] = node.parameters.map(parameterOf)
      return { ...shared, name: `[${key?.label}: ${key?.type}]`, type: oneLine(print(node.type)) }
    }
    const type = ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) ? node.type : undefined
    if (type !== undefined && ts.isTypeLiteralNode(type) && type.getText().includes('/**'))
      return { ...shared, name: name + optional, type: 'object', members: membersOf(type.members, checker) }
    const inferred = symbol && checker.typeToString(checker.getTypeOfSymbol(symbol))
    return { ...shared, name: name + optional, type: type === undefined ? (inferred ?? '') : oneLine(print(type)) }
  })
}
