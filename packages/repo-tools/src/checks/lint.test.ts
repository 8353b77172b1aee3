import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'modelgate-lint-'))

beforeAll(() => {
  for (const file of ['.biome.jsonc', '.gitignore']) copyFileSync(join(root, file), join(copy, file))
})
afterAll(() => rmSync(copy, { recursive: true }))

/** Returns the rules that report this text as the file at `path`. */
function lint(path: string, text: string): string[] {
  const file = join(copy, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  const biome = join(root, 'node_modules/.bin/biome')
  const { stdout, stderr } = spawnSync(biome, ['lint', '--config-path=.biome.jsonc', path], {
    cwd: copy,
    encoding: 'utf8',
  })
  const output = stdout + stderr
  expect(output).toContain('Checked 1 file')
  return [...output.matchAll(/lint\/\w+\/\w+/g)].map(([rule]) => rule)
}

describe('the lint rule that keeps core free of node', () => {
  it.each([
    ["import { readFile } from 'node:fs/promises'\nexport const read = readFile\n", 'lint/correctness/noNodejsModules'],
    ["import { readFile } from 'fs/promises'\nexport const read = readFile\n", 'lint/correctness/noNodejsModules'],
    ["export const load = () => import('node:fs')\n", 'lint/correctness/noNodejsModules'],
    ["export const bytes = Buffer.from('x')\n", 'lint/style/noRestrictedGlobals'],
    ['export const key = process.env.KEY\n', 'lint/style/noRestrictedGlobals'],
    ['export const later = setImmediate\n', 'lint/style/noRestrictedGlobals'],
  ])('reports %j in a source file', (text, rule) => {
    expect(lint('packages/core/src/formats/probe.ts', text)).toContain(rule)
  })

  it('ignores tests and other packages', () => {
    const text = "import { readFileSync } from 'node:fs'\nexport const read = () => Buffer.from(readFileSync('x'))\n"
    expect(lint('packages/core/src/probe.test.ts', text)).toEqual([])
    expect(lint('packages/node/src/probe.ts', text)).toEqual([])
  })
})
