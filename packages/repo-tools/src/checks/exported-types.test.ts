import { expect, it } from 'vitest'
import { publishedPackages, unexportedTypes } from './exported-types.mjs'

it('packages export every type that an exported signature mentions', () => {
  const packages = publishedPackages()
  expect(packages.length).toBeGreaterThan(8)
  expect(unexportedTypes(packages)).toEqual([])
})
