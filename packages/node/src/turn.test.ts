// Isolated: moves performance.now, by which the module measures how long it has had the thread.
import { expect, test, vi } from 'vitest'
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

test.each([
  [4, 4],
  [30, 10],
])('after a piece of %i ms others have the thread for %i', async (took, rest) => {
  await turn()
  let clock = performance.now() + 1000
  const now = vi.spyOn(performance, 'now').mockImplementation(() => clock)
  const timers = vi.spyOn(globalThis, 'setTimeout')
  try {
    await turn()
    clock += took
    await turn()
    expect(timers.mock.calls.map(([, ms]) => ms)).toContain(rest)
  } finally {
    now.mockRestore()
    timers.mockRestore()
  }
})
