import { compareAllocations, keepAllocations, keptAllocations, measureAllocations } from '@modelgate/bench/allocations'
import { describe, expect, it } from 'vitest'

/** Figures exist for the Node versions of CI only. */
const kept = keptAllocations()
if (kept === undefined)
  console.log(`allocations: no figures are kept for Node ${process.versions.node}, so none are compared`)

describe('allocations per call', () => {
  it('are at most 10 % above the recorded figures', async () => {
    const measured = await measureAllocations()
    if (process.env.UPDATE_ALLOCATIONS !== undefined) keepAllocations(measured)
    const { more, less } = compareAllocations(keptAllocations() ?? measured, measured)
    for (const line of less) console.log(`allocations: ${line}`)
    expect(more).toEqual([])
  }, 120_000)

  it('are reported if they are higher, lower or unknown', () => {
    const { more, less } = compareAllocations(
      { a: 1000, b: 1000, c: 1000, gone: 1 },
      { a: 1101, b: 899, c: 1099, new: 1 },
    )
    expect(more).toEqual([
      expect.stringContaining('a: a call allocates 1101 bytes, the stored figure is 1000 (+10.1 %)'),
      expect.stringContaining('gone: not measured any more'),
      expect.stringContaining('new: no stored figure'),
    ])
    expect(less).toEqual([
      expect.stringContaining('b: a call allocates 899 bytes, the stored figure is 1000 (-10.1 %)'),
    ])
  })
})
