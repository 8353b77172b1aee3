import { expect, test } from 'vitest'
import type { Report, Result } from './report.ts'
import { tableOf, wrap } from './table.ts'

const result = (feature: string, verdict: Result['verdict'], why?: string): Result => ({
  name: `chat/${feature}`,
  format: 'chat',
  feature,
  proves: '',
  verdict,
  why,
  ms: 1,
})
const share = { format: 'chat', title: 'chat completions', passed: 1, total: 6, notServed: 1, skipped: 0 } as const
const report: Report = {
  version: '1',
  url: 'http://a.test',
  models: { text: 'demo' },
  at: '',
  ms: 1500,
  calls: 9,
  passed: 1,
  total: 6,
  score: 16.6,
  formats: [share, { ...share, format: 'rerank', title: 'rerank', passed: 0, total: 0 }],
  results: [
    result('text', 'passed'),
    ...['usage', 'system', 'turns', 'stream'].map((feature) => result(feature, 'failed', '500: no')),
    result('stop', 'failed', 'the answer went on, and on'),
    result('seed', 'not served', '400: seed'),
    { ...result('order', 'not served', '404: Not Found'), name: 'rerank/order', format: 'rerank' },
  ],
}

test('prints one row per format, then the failures, grouped by reason if there are many', () => {
  expect(tableOf(report, 60)).toBe(`http://a.test, models: text demo; 9 calls in 1.5 s

  chat completions      1/6   1 not served
  rerank                  –   not served: 404: Not Found
  total                 1/6   16.6 %

Failed
  chat (4)   500: no (usage, system, turns, stream)
  chat/stop  the answer went on, and on

Not served
  chat/seed  400: seed`)
})

test('wraps lines at the width', () => {
  expect(wrap('one two three four five six', 24, 2)).toBe('one two three four\n  five six')
  expect(wrap(`one ${'x'.repeat(40)} two`, 20)).toBe(`one\n${'x'.repeat(40)}\ntwo`)
})
