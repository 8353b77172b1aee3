import { beforeAll, describe, expect, it } from 'vitest'
import { tableIn } from '../generated-table.ts'
import { checkTable, lackTable, ownScores, type Scores, scoreTable } from './conformance.ts'

const file = 'docs/internals/conformance.md'

describe(file, () => {
  let scores: Scores = []
  beforeAll(async () => {
    scores = await ownScores()
  })

  it.each([
    ['scores', scoreTable],
    ['lacks', lackTable],
    ['checks', checkTable],
  ])('contains the current %s of the scorer', (name, make) => {
    const fromCode = make(scores)
    expect(tableIn(file, name, fromCode)).toBe(fromCode)
  })
})
