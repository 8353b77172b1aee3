import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../workspace.mjs'
import { readApi } from './api.ts'
import { apiPages } from './api-page.ts'
import { read } from './blocks.mjs'

const packages = readApi()
const folder = join(root, 'docs/api')

describe('docs/api', () => {
  it('is generated from the current sources', () => {
    const pages = apiPages(packages)
    if (process.env.UPDATE_DOCS !== undefined) {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true })
      for (const [name, text] of pages) writeFileSync(join(folder, name), text)
    }
    const there = existsSync(folder) ? readdirSync(folder) : []
    expect(there.sort()).toEqual([...pages.keys()].sort())
    const stale = [...pages].filter(([name, text]) => text !== read(`docs/api/${name}`)).map(([name]) => name)
    expect(stale, 'out-of-date pages: run `npm run generate`').toEqual([])
  })

  it('documents every exported name', () => {
    const silent = packages.flatMap(({ name, folder, entries }) =>
      entries
        .filter(({ doc, home, kind }) => doc === '' && home === folder && kind !== 'named')
        .map((entry) => `${name}: ${entry.name}`),
    )
    expect(silent).toEqual([])
  })

  it('contains no truncated JSDoc, such as before an @ that is read as a tag', () => {
    const told = packages.flatMap(({ name, entries }) =>
      entries.flatMap((entry) =>
        [entry, ...entry.members].map((one) => ({ name: `${name}: ${entry.name}.${one.name}`, doc: one.doc })),
      ),
    )
    const isWhole = (doc: string): boolean => doc === '' || (/[.!?)]$/.test(doc) && doc.split('`').length % 2 === 1)
    expect(told.filter(({ doc }) => !isWhole(doc)).map(({ name }) => name)).toEqual([])
  })
})
