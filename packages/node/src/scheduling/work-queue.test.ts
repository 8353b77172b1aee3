// Isolated: moves performance.now, which the module uses to measure its time on the thread.
import { expect, test, vi } from 'vitest'
import { waitForTurn } from './work-queue.ts'

test('runs each piece of work in its own turn of the event loop, in order of arrival', async () => {
  const seen: string[] = []
  const piece = async (name: string): Promise<void> => {
    await waitForTurn()
    seen.push(name)
    // Other events that arrive during the work.
    setImmediate(() => seen.push('others'))
  }
  await Promise.all([piece('a'), piece('b'), piece('c')])
  await waitForTurn()
  expect(seen).toEqual(['a', 'others', 'b', 'others', 'c', 'others'])
})

test.each([
  [4, 4],
  [30, 10],
])('pauses after a piece of %i ms for %i ms', async (took, rest) => {
  await waitForTurn()
  let clock = performance.now() + 1000
  const now = vi.spyOn(performance, 'now').mockImplementation(() => clock)
  const timers = vi.spyOn(globalThis, 'setTimeout')
  try {
    await waitForTurn()
    clock += took
    await waitForTurn()
    expect(timers.mock.calls.map(([, ms]) => ms)).toContain(rest)
  } finally {
    now.mockRestore()
    timers.mockRestore()
  }
})
