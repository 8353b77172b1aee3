import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { filesBelow, root } from '../base/workspace.mjs'

const isCode = (file: string): boolean =>
  /\.[cm]?[jt]sx?$/.test(file) && !/(^|\/)(dist|node_modules|\.next|\.cache)\//.test(file)
const files = ['packages', 'examples'].flatMap((dir) => filesBelow(dir)).filter(isCode)

/** A package's files may import each other by path; everything else goes by a package's name. */
const packageOf = (file: string): string => {
  const [group, name] = file.split('/')
  return group === 'packages' ? `packages/${name}` : 'outside of packages'
}

/** Returns the specifiers of static and dynamic imports, type imports included. */
const specifiers = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g

/** A benchmark of internals that is bundled separately; not a test. */
const exempt = new Set(['packages/bench/src/codec-source.ts'])

it('no file imports another package by path', () => {
  const found = files.flatMap((file) => {
    if (exempt.has(file)) return []
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(specifiers)].flatMap(([, specifier = '']) => {
      const target = relative(root, join(root, dirname(file), specifier))
      const isForeign = target.startsWith('packages/') && packageOf(target) !== packageOf(file)
      return isForeign ? [`${file} imports ${specifier}: import it from ${packageOf(target)}/test-support`] : []
    })
  })
  expect(found).toEqual([])
})

it('no test mocks a module by path: mocks of a path break silently when the file moves', () => {
  const found = files.filter((file) =>
    /\bvi\.(mock|doMock)\(\s*(import\()?['"`]\./.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(found).toEqual([])
})
