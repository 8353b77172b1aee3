import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { covered } from './covered.ts'
import { subjects, tryMatrix } from './matrix.ts'

const packages = fileURLToPath(new URL('../../../../', import.meta.url))

/** Returns the members of every exported interface of the packages whose options have functions, by interface name. */
function interfaces(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const name of ['console', 'core', 'node', 'otel', 'tokens']) {
    const folder = join(packages, name, 'src')
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.includes('.test')) continue
      const text = readFileSync(join(folder, file), 'utf8')
      if (!text.includes('export interface')) continue
      ts.forEachChild(ts.createSourceFile(file, text, ts.ScriptTarget.Latest), (node) => {
        if (!ts.isInterfaceDeclaration(node)) return
        if (!Object.hasOwn(covered, node.name.text)) return
        const members = node.members.flatMap((member) =>
          member.name !== undefined && ts.isIdentifier(member.name) ? [member.name.text] : [],
        )
        found.set(node.name.text, [...(found.get(node.name.text) ?? []), ...members])
      })
    }
  }
  return found
}

describe('callback matrix', () => {
  test('lists every member of every type by which a host supplies functions', () => {
    const declared = interfaces()
    for (const [name, members] of Object.entries(covered))
      expect([name, [...(declared.get(name) ?? [])].sort()]).toEqual([name, Object.keys(members).sort()])
  })

  test('tests every listed function and lists every tested function', () => {
    const named = Object.values(covered).flatMap((members) =>
      Object.values(members).flatMap((tried: unknown) => (Array.isArray(tried) ? (tried as string[]) : [])),
    )
    expect([...new Set(named)].sort()).toEqual(subjects.map(({ name }) => name).sort())
    for (const members of Object.values(covered))
      for (const tried of Object.values(members) as unknown[])
        if (typeof tried === 'object' && tried !== null && 'see' in tried)
          expect(covered).toHaveProperty(String(tried.see))
  })

  test('reports that deciders reject calls, observers are ignored, and nothing hangs or stays unhandled', async () => {
    const { cells, held, complaints, unhandled } = await tryMatrix()
    expect(complaints).toEqual([])
    expect(unhandled).toEqual([])
    expect(held).toBe(cells)
    expect(cells).toBeGreaterThan(300)
  }, 300_000)
})
