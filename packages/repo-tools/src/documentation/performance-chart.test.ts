import { expect, it } from 'vitest'
import { read } from './pages.mjs'

/** Rates in a text, such as `nginx: 14,181 /s`. */
const ratesIn = (text: string): string[] => [...text.matchAll(/([\d,]+) \/s/g)].map(([, rate = '']) => rate)

it('the chart of rates shows the rows of the benchmark table in which other gateways were measured', () => {
  const charted = read('docs/images/performance-rates.svg')
    .split('<text x="8" ')
    .slice(1)
    .map((group) => ({
      work: /font-weight="bold">(.*), calls per second</.exec(group)?.[1],
      rates: [...group.matchAll(/<text x="\d+" y="\d+">([\d,]+)</g)].map(([, rate = '']) => rate).sort(),
    }))
  const recorded = read('docs/internals/performance.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(({ 7: others = '' }) => ratesIn(others).length > 0)
    .map(([, work, own = '', compared = '', , , , others = '']) => ({
      work,
      rates: [own, compared, others].flatMap(ratesIn).sort(),
    }))
  expect(recorded.length).toBeGreaterThan(0)
  expect(charted).toEqual(recorded)
})
