import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { readJson, root, workspaceDirs } from '../base/workspace.mjs'

const dirs = workspaceDirs(['packages']).filter((dir) => readJson(`${dir}/package.json`).private !== true)

const nameOf = (dir: string): string => readJson(`${dir}/package.json`).name

type Declared = Map<string, { values: string[]; types: string[] }>
let known: Declared | undefined

/** Returns the exported values and types of each package. */
function declared(): Declared {
  known ??= readDeclarations()
  return known
}

function readDeclarations(): Declared {
  const entries = new Map(dirs.map((dir) => [join(root, dir, 'dist/index.d.ts'), nameOf(dir)]))
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    noEmit: true,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    types: [],
  }
  const program = ts.createProgram([...entries.keys()], options)
  const checker = program.getTypeChecker()
  return new Map(
    [...entries].map(([file, name]) => {
      const source = program.getSourceFile(file)
      const symbol = source && checker.getSymbolAtLocation(source)
      if (symbol === undefined) throw new Error(`${file} is no module`)
      const names = checker.getExportsOfModule(symbol).map((one) => ({
        name: one.name,
        flags: (one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one).flags,
      }))
      const pick = (value: boolean) =>
        names.filter(({ flags }) => Boolean(flags & ts.SymbolFlags.Value) === value).map((one) => one.name)
      return [name, { values: pick(true).sort(), types: pick(false).sort() }]
    }),
  )
}

/** Returns the exports of each package in a Node process that loads `dist/{file}` this way. */
function loaded(type: 'module' | 'commonjs', load: string, file: string): Map<string, string[]> {
  const files = dirs.map((dir) => join(root, dir, 'dist', file))
  const script = `(async () => {
    const names = []
    for (const file of ${JSON.stringify(files)}) names.push(Object.keys(${load}).sort())
    console.log(JSON.stringify(names))
  })()`
  const output = execFileSync(process.execPath, [`--input-type=${type}`, '-e', script], { encoding: 'utf8' })
  return new Map((JSON.parse(output) as string[][]).map((one, i) => [nameOf(dirs[i] as string), one]))
}

it('ES modules and CommonJS get the names that the types declare', () => {
  const values = new Map([...declared()].map(([name, one]) => [name, one.values]))
  expect(loaded('module', 'await import(file)', 'index.js')).toEqual(values)
  expect(loaded('commonjs', 'require(file)', 'index.cjs')).toEqual(values)
  // Node detects the names of a CommonJS module in its text, and misses some notations.
  for (const [name, seen] of loaded('module', 'await import(file)', 'index.cjs'))
    expect([name, values.get(name)?.filter((one) => !seen.includes(one))]).toEqual([name, []])
})

it('packages export exactly the recorded names', async () => {
  const text = [...declared()].map(([name, { values, types }]) =>
    [name, ...values.map((one) => `  ${one}`), ...types.map((one) => `  type ${one}`)].join('\n'),
  )
  // A removed name breaks users; a new one must be kept. Update: npm run generate
  await expect(`${text.join('\n\n')}\n`).toMatchFileSnapshot('exported-names.txt')
})
