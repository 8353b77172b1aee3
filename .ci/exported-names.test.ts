import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { readJson, root, workspaceDirs } from './workspace.mjs'

const dirs = workspaceDirs(['packages']).filter((dir) => readJson(`${dir}/package.json`).private !== true)

/** What each package's types export: values, and names that are types only. */
function declared(): Map<string, { values: string[]; types: string[] }> {
  const entries = new Map(dirs.map((dir) => [join(root, dir, 'dist/index.d.ts'), readJson(`${dir}/package.json`).name]))
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
      return [name as string, { values: pick(true).sort(), types: pick(false).sort() }]
    }),
  )
}

const loaded = (dir: string): string[] =>
  JSON.parse(
    execFileSync(
      process.execPath,
      ['--input-type=module', '-e', "console.log(JSON.stringify(Object.keys(await import('./dist/index.js')).sort()))"],
      { cwd: join(root, dir), encoding: 'utf8' },
    ),
  )

it('the names that packages export are those one has agreed to', async () => {
  const names = declared()
  for (const dir of dirs) expect(loaded(dir)).toEqual(names.get(readJson(`${dir}/package.json`).name)?.values)
  const text = [...names].map(([name, { values, types }]) =>
    [name, ...values.map((one) => `  ${one}`), ...types.map((one) => `  type ${one}`)].join('\n'),
  )
  // A name that is missing here is gone for users; one that is new is there for good. Update: vitest -u
  await expect(`${text.join('\n\n')}\n`).toMatchFileSnapshot('exported-names.txt')
})
