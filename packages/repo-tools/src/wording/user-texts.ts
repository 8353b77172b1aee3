import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { filesBelow, root, workspaceDirs } from '../base/workspace.mjs'

/** A text that users read, by place. */
export interface UserText {
  readonly file: string
  readonly line: number
  /** For a line of a page or comment, with the first words of the next line: a phrase may wrap. */
  readonly text: string
  /** Length of the line itself. */
  readonly length: number
}

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const isBuilt = (file: string): boolean =>
  /(?:^|\/)(?:node_modules|dist|\.next|\.vitepress\/(?:cache|dist))\//.test(file)
const isCode = (file: string): boolean => /\.[cm]?[jt]sx?$/.test(file)
const isTest = (file: string): boolean => /\.test\.|\.test-support\.|(?:^|\/)(?:fixtures|test-support)\//.test(file)

/** Sources whose strings are test cases or code: the suites of the conformance kit, and Lua scripts for Redis. */
const isUnread = (file: string): boolean =>
  /^packages\/conformance\/src\/(?!score\/|torture\/|runtimes\/)|\/meter-scripts\.ts$/.test(file)

/**
 * Yields the texts of the repository that users read: pages, messages in sources of packages, JSDoc of exported names, and the comments and
 * messages of examples. Decisions are not among them: they are a history, and quote the texts of their time.
 */
export function* userTexts(): Generator<UserText> {
  for (const file of pages()) yield* markdownTexts(file)
  const exported = exportedNames()
  for (const dir of publicDirs())
    for (const file of filesBelow(`${dir}/src`).filter((file) => isCode(file) && !isTest(file) && !isUnread(file))) {
      const source = parse(file, read(file))
      yield* messages(source, file)
      yield* exportedComments(source, file, exported)
    }
  for (const file of filesBelow('examples').filter((file) => isCode(file) && !isBuilt(file) && !isTest(file))) {
    const source = parse(file, read(file))
    yield* messages(source, file)
    yield* comments(source.text, file, 1)
  }
}

const pages = (): string[] => [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'],
  ...filesBelow('.changeset').filter((file) => file.endsWith('.md')),
  ...filesBelow('docs').filter(
    (file) => file.endsWith('.md') && !file.startsWith('docs/decisions/') && !isBuilt(file) && !isApiPage(file),
  ),
  ...publicDirs().map((dir) => `${dir}/README.md`),
  ...filesBelow('examples').filter((file) => file.endsWith('.md') && !isBuilt(file)),
]

/** Pages that the site writes from JSDoc, which is collected from the sources. */
const isApiPage = (file: string): boolean => /^docs\/reference\/api\/(?!README)/.test(file)

/** Folders of the packages that users install. */
const publicDirs = (): string[] =>
  workspaceDirs(['packages']).filter((dir) => JSON.parse(read(`${dir}/package.json`)).private !== true)

/** Adds the first words of each next line. */
function withNextWords(lines: readonly string[], file: string, first: number): UserText[] {
  return lines.flatMap((line, index) => {
    const text = line.trim()
    const next = /^\s*(?:\*\s|\/\/\s)?\s*(?<words>\w+(?:\s\w+){0,3})/.exec(lines[index + 1] ?? '')?.groups?.words ?? ''
    return text === '' ? [] : [{ file, line: first + index, text: `${text} ${next}`, length: text.length }]
  })
}

/** Yields the prose of a page without inline code, and the comments of its code blocks. */
function* markdownTexts(file: string): Generator<UserText> {
  let fence: string | undefined
  let language = ''
  let block: string[] = []
  const prose: string[] = []
  for (const [index, line] of read(file).split('\n').entries()) {
    const mark = /^\s*(?<fence>```+|~~~+)(?<language>\w*)/.exec(line)?.groups
    const isFenced = fence !== undefined || mark !== undefined
    prose.push(isFenced ? '' : line.replaceAll(/`[^`]*`|\]\([^)]*\)|<!--.*?-->/g, ' '))
    if (fence === undefined) {
      fence = mark?.fence
      language = mark?.language ?? ''
      block = []
    } else if (line.trim() === fence) {
      yield* blockComments(block, language, file, index - block.length + 1)
      fence = undefined
    } else block.push(line)
  }
  yield* withNextWords(prose, file, 1)
}

function blockComments(lines: readonly string[], language: string, file: string, first: number): Iterable<UserText> {
  if (/^(?:[cm]?[jt]sx?|javascript|typescript|jsonc)$/.test(language)) return comments(lines.join('\n'), file, first)
  return withNextWords(
    lines.map((line) => (/^\s*#(?!!)/.test(line) ? line : '')),
    file,
    first,
  )
}

const parse = (file: string, text: string): ts.SourceFile =>
  ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, file.endsWith('x') ? ts.ScriptKind.TSX : undefined)

const lineOf = (source: ts.SourceFile, position: number): number =>
  source.getLineAndCharacterOfPosition(position).line + 1

/** A text of at least two words: names, keys and paths have one. */
const isMessage = (text: string): boolean => /[\p{L}}'"`)] [\p{L}$'"`(]/u.test(text)

/** Yields the string literals, templates and JSX texts of a file. Expressions in templates become `…`. */
function* messages(source: ts.SourceFile, file: string): Generator<UserText> {
  const found: UserText[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isLiteralTypeNode(node)) return
    const text = textOf(node)
    if (text !== undefined && isMessage(text))
      found.push({ file, line: lineOf(source, node.getStart(source)), text, length: text.length })
    ts.forEachChild(node, visit)
  }
  visit(source)
  yield* found
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return withoutTags(node.text)
  if (ts.isJsxText(node)) return node.text.replaceAll(/\s+/g, ' ').trim()
  if (!ts.isTemplateExpression(node)) return undefined
  return withoutTags([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…'))
}

const withoutTags = (text: string): string => text.replaceAll(/<[^<>]*>/g, ' ')

/** Names that the packages export, of all packages together. */
const exportedNames = (): ReadonlySet<string> =>
  new Set(
    read('packages/repo-tools/src/checks/exported-names.txt')
      .split('\n')
      .map((line) => line.trim().replace(/^type /, '')),
  )

/** Yields the JSDoc of exported declarations and of their members. */
function* exportedComments(source: ts.SourceFile, file: string, exported: ReadonlySet<string>): Generator<UserText> {
  for (const statement of source.statements) {
    if (!namesOf(statement).some((name) => exported.has(name))) continue
    // A function's body is not part of its documentation.
    const end = ts.isFunctionDeclaration(statement) ? (statement.body?.pos ?? statement.end) : statement.end
    const text = source.text.slice(statement.pos, end)
    for (const comment of comments(text, file, lineOf(source, statement.pos))) if (comment.isDoc) yield comment
  }
}

function namesOf(statement: ts.Statement): string[] {
  if (!ts.canHaveModifiers(statement)) return []
  const isExported = ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
  if (!isExported) return []
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name.getText())
  const { name } = statement as ts.Statement & { readonly name?: ts.Node }
  return name === undefined ? [] : [name.getText()]
}

/** Yields the lines of all comments of a text, without inline code. */
function* comments(text: string, file: string, first: number): Generator<UserText & { readonly isDoc: boolean }> {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, false, ts.LanguageVariant.JSX, text)
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (token !== ts.SyntaxKind.SingleLineCommentTrivia && token !== ts.SyntaxKind.MultiLineCommentTrivia) continue
    const comment = scanner.getTokenText()
    const line = first + text.slice(0, scanner.getTokenStart()).split('\n').length - 1
    const isDoc = comment.startsWith('/**')
    for (const part of withNextWords(comment.replaceAll(/`[^`]*`/g, ' ').split('\n'), file, line))
      yield { ...part, isDoc }
  }
}
