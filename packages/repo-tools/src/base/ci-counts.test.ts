import { expect, it } from 'vitest'
import { readResults } from './ci-counts.mjs'

it('names failed, flaky and skipped tests', () => {
  const counts = { passed: 3, failed: 1, skipped: 2, failures: ['a.test.ts > adds: no'], flaky: ['b.test.ts > waits'] }
  expect(readResults('tests', counts)).toEqual({
    passed: 3,
    failed: 1,
    notes: [
      'failed: a.test.ts > adds: no',
      'passed only on the second run: b.test.ts > waits',
      'skipped: tests, 2 tests',
    ],
  })
})

it('names rows that failed, were skipped or were too late', () => {
  const rows = [
    { row: 1, title: 'disconnects', verdict: 'FAILED', figure: '3/4 closed' },
    { row: 10, title: 'delay', verdict: 'FAILED', figure: '9 ms', late: true },
    { row: 41, title: 'Redis', verdict: 'skipped', skipped: 'no redis-server' },
    { row: 42, title: 'holds', verdict: 'held', figure: '4/4', late: true },
  ]
  expect(readResults('torture', [{ target: 'node', held: 1, short: 1, rows }])).toEqual({
    passed: 1,
    failed: 1,
    notes: [
      'failed: torture, node, row 1 (disconnects): 3/4 closed',
      'too late, not counted: torture, node, row 10 (delay): 9 ms',
      'skipped: torture, node, row 41 (Redis): no redis-server',
    ],
  })
})

it('names failed pages, absent runtimes and failed cells', () => {
  const results = [
    { held: 0, short: 1, page: 'README.md', error: 'no response by openai\nmore' },
    { held: 0, short: 0, title: 'Bun', absent: 'npm has no Bun for s390x' },
    { held: 1, short: 1, title: 'Deno', checks: [{ name: 'bytes', held: 2, total: 3 }, { name: 'redis' }] },
  ]
  expect(readResults('runtimes', results)).toEqual({
    passed: 1,
    failed: 2,
    notes: [
      'failed: runtimes, README.md: no response by openai',
      'skipped: runtimes, Bun: npm has no Bun for s390x',
      'failed: runtimes, Deno, bytes: 2 of 3',
    ],
  })
})

it('names a step that checked nothing', () => {
  expect(readResults('stranger', [])).toEqual({ passed: 0, failed: 0, notes: ['skipped: stranger'] })
})
