import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { GrowingText } from './growing-text.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const used = (): number => {
  for (let n = 0; n < 3; n++) collect()
  return process.memoryUsage().heapUsed
}
/** As a parser gives them: each a string of its own. */
const piece = (n: number): string => JSON.parse(`"word ${n % 10} "`) as string

it.each([0, 1, 100, 1000, 5000])('is what was added, all of it in order: %i pieces', (count) => {
  const text = new GrowingText('begun ')
  let expected = 'begun '
  for (let n = 0; n < count; n++) {
    expected += `${n} ü🙂`
    text.add(`${n} ü🙂`)
    expect(text.length).toBe(expected.length)
  }
  expect(text.toString()).toBe(expected)
  text.add('more')
  expect(text.toString()).toBe(`${expected}more`)
})

it('takes little more room than its characters', () => {
  const text = new GrowingText()
  const before = used()
  for (let n = 0; n < 200_000; n++) text.add(piece(n))
  expect((used() - before) / text.length).toBeLessThan(2)
  expect(text.length).toBe(1_400_000)
})
