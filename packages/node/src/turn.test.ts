import { expect, test } from 'vitest'
import { turn } from './turn.ts'

test('pieces of work have a turn of the event loop each, in the order in which they asked', async () => {
  const seen: string[] = []
  const piece = async (name: string): Promise<void> => {
    await turn()
    seen.push(name)
    // What comes in meanwhile.
    setImmediate(() => seen.push('others'))
  }
  await Promise.all([piece('a'), piece('b'), piece('c')])
  await turn()
  expect(seen).toEqual(['a', 'others', 'b', 'others', 'c', 'others'])
})

test('others have the thread for as long as a piece took', async () => {
  await turn()
  const begun = performance.now()
  let turns = 0
  while (performance.now() - begun < 30);
  const counting = setInterval(() => turns++, 1)
  await turn()
  clearInterval(counting)
  // Thirty milliseconds have many turns in them; one immediate has one at most.
  expect(turns).toBeGreaterThan(1)
})
