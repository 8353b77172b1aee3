import { expect, test } from 'vitest'
import type { Outcome } from './check.ts'
import { type Row, summary } from './report.ts'

const row = (outcome: Outcome): Row => ({
  check: { row: 39, group: 'Secrets', title: 'a row', promise: 'holds' },
  outcome,
  seconds: 1,
})
const late = row({ held: false, figure: '1.2 s', late: true })
const wrong = row({ held: false, figure: '1 of 200 calls crossed', late: false })
const crashed = row({ held: false, figure: 'the check itself failed: connect ECONNREFUSED' })

test('a lenient summary excuses rows that only missed times, and no other failure', () => {
  expect(summary([late, wrong, crashed], true)).toMatchObject({ held: 0, short: 2, tooLate: 1 })
})

test('a strict summary counts late rows as failures', () => {
  expect(summary([late, wrong, crashed], false)).toMatchObject({ held: 0, short: 3, tooLate: 0 })
})

test('a row that holds is not late', () => {
  expect(summary([row({ held: true, figure: '3 ms', late: true })], true)).toMatchObject({
    held: 1,
    short: 0,
    tooLate: 0,
  })
})
