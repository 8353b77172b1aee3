// A module hook: serves core's TypeScript sources to Node with a call at the beginning of each function that reports its file and name.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const source = new URL('../../../core/src/', import.meta.url).href

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.startsWith(source) || !url.endsWith('.ts')) return nextLoad(url, context)
  const { outputText } = ts.transpileModule(readFileSync(fileURLToPath(url), 'utf8'), {
    fileName: url,
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    transformers: { before: [reportingCalls(url.slice(source.length))] },
  })
  return { format: 'module', source: outputText, shortCircuit: true }
}

/**
 * @param {string} file
 * @returns {ts.TransformerFactory<ts.SourceFile>}
 */
const reportingCalls = (file) => (context) => {
  const { factory } = context
  const report = (/** @type {ts.Node} */ entered) =>
    factory.createCallExpression(factory.createIdentifier('modelgateStructureEnter'), undefined, [
      factory.createStringLiteral(file),
      factory.createStringLiteral(nameOf(entered)),
    ])
  /** @param {ts.Node} node @returns {ts.Node} */
  const visit = (node) => {
    const done = ts.visitEachChild(node, visit, context)
    if (ts.isArrowFunction(done) && !ts.isBlock(done.body)) {
      const body = factory.createParenthesizedExpression(factory.createComma(report(node), done.body))
      const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken } = done
      return factory.updateArrowFunction(
        done,
        modifiers,
        typeParameters,
        parameters,
        type,
        equalsGreaterThanToken,
        body,
      )
    }
    if (!ts.isBlock(done) || !ts.isFunctionLike(node.parent)) return done
    // A derived class's constructor may not do much before `super()`.
    const first = done.statements.findIndex(isSuperCall) + 1
    const reported = factory.createExpressionStatement(report(node.parent))
    return factory.updateBlock(done, [...done.statements.slice(0, first), reported, ...done.statements.slice(first)])
  }
  return (tree) => /** @type {ts.SourceFile} */ (ts.visitNode(tree, visit))
}

/** @param {ts.Statement} statement */
const isSuperCall = (statement) =>
  ts.isExpressionStatement(statement) &&
  ts.isCallExpression(statement.expression) &&
  statement.expression.expression.kind === ts.SyntaxKind.SuperKeyword

/** Returns the name of a function, or of the nearest named declaration that contains it. @param {ts.Node} node @returns {string} */
function nameOf(node) {
  if (ts.isSourceFile(node)) return '(module)'
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  const { name } = /** @type {{ name?: ts.Node }} */ (node)
  return name !== undefined && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) ? name.text : nameOf(node.parent)
}
