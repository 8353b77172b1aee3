import { expect, it } from 'vitest'
import { createReport } from './loss-report.ts'
import { responseReport } from './shared/response-losses.ts'

const seed = { path: '/seed', kind: 'unsupported', severity: 'warn', detail: 'no seed' } as const

it('keeps equal losses once and losses that differ in path, kind, side or detail separately', () => {
  const report = createReport()
  const others = [
    { ...seed, path: '/top_k' },
    { ...seed, kind: 'clamped' as const },
    { ...seed, detail: 'other' },
  ]
  for (const loss of [seed, seed, ...others, ...others]) report.add(loss)
  responseReport(report).add(seed)
  responseReport(report).add(seed)
  expect(report.losses).toEqual([seed, ...others, { ...seed, side: 'answer' }])
})

it('accepts 100,000 losses of a hostile body', () => {
  const report = createReport()
  const count = 100_000
  // Comparing every pair would take minutes.
  for (let i = 0; i < count; i++) report.add({ ...seed, path: `/messages/${i}/odd` })
  expect(report.losses).toHaveLength(count)
})

it.each([
  ['/messages/0/content/1/detail', '/messages/0/content/1'],
  ['/messages/0/content/0/citations', '/messages/0/content/0'],
  ['/messages/7/content', '/messages'],
  ['/messages/0/a~1b', '/messages/0/a~1b'],
  ['/max_tokens', '/max_tokens'],
  ['/reasoning/effort', '/reasoning/effort'],
  ['', ''],
])('shortens a path to one that exists in the client’s body: %s to %s', (path, expected) => {
  const report = createReport({ messages: [{ content: ['x', { type: 'image' }], 'a/b': 1 }] })
  report.add({ ...seed, path })
  responseReport(report).add({ ...seed, path })
  expect(report.losses.map((loss) => loss.path)).toEqual([expected, path])
})

it('limits the losses of a response and keeps one entry for each severity of the rest', () => {
  const report = createReport()
  const answer = responseReport(report)
  const lose = (n: number, severity: 'note' | 'warn') =>
    answer.add({ path: `/choices/0/x${n}`, kind: 'unknown', severity, detail: 'the field is left out' })
  for (let n = 0; n < 20_000; n++) lose(0, 'note')
  expect(report.losses).toHaveLength(1)
  for (let n = 0; n < 50_000; n++) lose(n, 'note')
  for (let n = 50_000; n < 60_000; n++) lose(n, 'warn')
  expect(report.losses).toHaveLength(10_002)
  expect(report.losses.slice(-2).map(({ severity }) => severity)).toEqual(['note', 'warn'])
})
