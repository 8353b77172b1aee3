import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJson, workspaceDirs } from '@modelgate/repo-tools/workspace'
import { describe, expect, it } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(here).filter((name) => existsSync(join(here, name, 'package.json')))
const versions = new Map(workspaceDirs(['packages']).map((dir) => [readJson(`${dir}/package.json`).name, dir]))

/** Returns the source files of an example. */
const code = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return /^(?:node_modules|\.next)$/.test(entry.name) ? [] : code(path)
    return /(?<!\.d|\.test)\.[jt]sx?$/.test(entry.name) ? [readFileSync(path, 'utf8')] : []
  })

/** Returns the package of an import: `@scope/name` for `@scope/name/path`. */
const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

describe.each(names)('a copy of examples/%s', (name) => {
  const { dependencies = {}, devDependencies = {} } = readJson(`examples/${name}/package.json`)

  it('declares its imports as dependencies', () => {
    const imported = code(join(here, name))
      .flatMap((text) => [...text.matchAll(/^(?:import |import .* from |\} from )'([^']+)'/gm)])
      .map(([, from = '']) => from)
      .filter((from) => !from.startsWith('.') && !isBuiltin(from))
    expect(Object.keys(dependencies)).toEqual(expect.arrayContaining([...new Set(imported.map(packageOf))]))
  })

  it('depends on published packages', () => {
    for (const [dependency, range] of Object.entries({ ...dependencies, ...devDependencies })) {
      const dir = versions.get(dependency)
      if (dir === undefined) expect(range).toMatch(/^[~^]?\d/)
      else expect(range).toBe(`^${readJson(`${dir}/package.json`).version}`)
    }
  })

  it('has a README and is listed', () => {
    expect(readFileSync(join(here, name, 'README.md'), 'utf8')).toContain('npm install')
    expect(readFileSync(join(here, 'README.md'), 'utf8')).toContain(`](${name})`)
  })
})
