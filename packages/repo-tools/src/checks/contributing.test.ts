import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../base/workspace.mjs'

const rows = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  .split('## To change X, edit Y')[1]
  ?.split('\n')
  .filter((line) => /^\| (a|an) /.test(line))
  .map((line) => {
    const [, subject = '', places = ''] = line.split('|').map((cell) => cell.trim())
    return { subject, places: [...places.matchAll(/`([^`]+\/[^`]*)`/g)].map(([, path = '']) => path) }
  })

describe('the table of CONTRIBUTING.md', () => {
  it('has a row for each kind of change', () => {
    expect(rows).toHaveLength(12)
  })

  it.each(rows ?? [])('names one to three existing places for $subject', ({ places }) => {
    expect(places.length).toBeGreaterThan(0)
    expect(places.length).toBeLessThanOrEqual(3)
    expect(places.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})
