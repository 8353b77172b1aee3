import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { filesBelow, root } from '../base/workspace.mjs'

// V8 allocates the accessors of an object literal, and a function literal that is assigned to a property, in its old generation. If a call
// creates one, the call stays in memory until a full garbage collection, and a stream needs up to 55 % more CPU time. See
// docs/internals/optimizations.md.

/** Packages with code that runs for each call. */
const packages = ['core', 'node', 'express', 'fastify', 'hono', 'tokens', 'otel', 'ai-sdk']

/** Findings in each file that are created once for a gateway, schema, table or ledger, and not for each call. */
const allowed: Readonly<Record<string, number>> = {
  'packages/core/src/formats/shared/body-schema-class.ts': 1,
  'packages/core/src/formats/shared/model-places.ts': 1,
  'packages/core/src/gateway/start-gateway.ts': 2,
  'packages/tokens/src/ledger/file-ledger.ts': 1,
}

const reason =
  'V8 would keep it, and the call that it refers to, until a full garbage collection (docs/internals/optimizations.md)'

interface Finding {
  readonly line: number
  readonly advice: string
}

function findOldObjects(name: string, text: string): Finding[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
  const found: Finding[] = []
  const visit = (node: ts.Node, isInFunction: boolean): void => {
    const note = (advice: string): number =>
      found.push({ line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1, advice })
    if (isInFunction && ts.isObjectLiteralExpression(node) && node.properties.some(ts.isAccessor))
      note(`an accessor in an object literal: use a method or a class, because ${reason}`)
    if (isInFunction && assignsFunction(node))
      note(`a function literal assigned to a property: declare a constant and assign that, because ${reason}`)
    ts.forEachChild(node, (child) => visit(child, isInFunction || ts.isFunctionLike(node)))
  }
  visit(file, false)
  return found
}

const assignsFunction = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) &&
  node.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
  node.operatorToken.kind <= ts.SyntaxKind.LastAssignment &&
  (ts.isPropertyAccessExpression(node.left) || ts.isElementAccessExpression(node.left)) &&
  isFunctionLiteral(node.right)

function isFunctionLiteral(node: ts.Node): boolean {
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
    return isFunctionLiteral(node.expression)
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node)
}

it('calls create no objects in the old generation', () => {
  const counts: Record<string, number> = {}
  const places: string[] = []
  const files = packages.flatMap((name) => filesBelow(`packages/${name}/src`))
  for (const path of files) {
    if (!path.endsWith('.ts') || /\.test\.ts$|\.test-support\.ts$/.test(path)) continue
    const found = findOldObjects(path, readFileSync(join(root, path), 'utf8'))
    if (found.length > 0) counts[path] = found.length
    if (found.length > (allowed[path] ?? 0))
      places.push(...found.map(({ line, advice }) => `${path}:${line}: ${advice}`))
  }
  expect(places, 'Objects that are not created for each call are counted in `allowed`').toEqual([])
  expect(counts, 'Lower the number in `allowed`: the file has fewer findings now').toEqual(allowed)
})

it('finds accessors of literals and assigned functions, within functions only', () => {
  const lines = [
    'const once = { get a() { return 1 } }',
    'const f = (o) => {',
    '  o.b = () => 1',
    '  o[0] ??= (function () {}) as T',
    '  const named = () => 1',
    '  o.c = named',
    '  return { get d() { return 1 }, e: () => 1 }',
    '}',
    'class C { get g() { return 1 } #h = () => this }',
  ]
  expect(findOldObjects('a.ts', lines.join('\n')).map(({ line }) => line)).toEqual([3, 4, 7])
})
