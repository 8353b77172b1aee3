import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { filesBelow, root } from '../base/workspace.mjs'

/**
 * V8 allocates two kinds of objects in its old generation, where they stay until a full garbage collection, together with everything
 * that they refer to: the accessors of an object literal, and a function that is assigned to a property where it is written. One of them
 * for each call keeps whole calls alive. Their survival also makes V8 allocate other objects of calls in the old generation, which
 * costs a stream up to half of its CPU time. See docs/internals/optimizations.md.
 */
const packages = ['core', 'node', 'express', 'fastify', 'hono']

/** Objects that live as long as a gateway or a table. */
const allowed: Readonly<Record<string, number>> = {
  'packages/core/src/formats/shared/body-schema-class.ts': 1,
  'packages/core/src/formats/shared/model-places.ts': 1,
  'packages/core/src/gateway/start-gateway.ts': 2,
}

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
      note('make the accessor a method, or the object a class')
    if (isInFunction && assignsFunction(node)) note('assign the function to a constant first')
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
  (ts.isArrowFunction(node.right) || ts.isFunctionExpression(node.right))

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
  expect(places).toEqual([])
  expect(counts).toEqual(allowed)
})

it('finds accessors of literals and assigned functions, within functions only', () => {
  const lines = [
    'const once = { get a() { return 1 } }',
    'const f = (o) => {',
    '  o.b = () => 1',
    '  o[0] ??= function () {}',
    '  const named = () => 1',
    '  o.c = named',
    '  return { get d() { return 1 }, e: () => 1 }',
    '}',
    'class C { get g() { return 1 } #h = () => this }',
  ]
  expect(findOldObjects('a.ts', lines.join('\n')).map(({ line }) => line)).toEqual([3, 4, 7])
})
