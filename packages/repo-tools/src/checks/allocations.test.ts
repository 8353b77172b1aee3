import {
  compareAllocations,
  keepAllocations,
  keptAllocations,
  maxRetainedBytes,
  measureAllocations,
} from '@modelgate/bench/allocations'
import { beforeAll, describe, expect, it } from 'vitest'

/** Figures exist for the Node versions of CI only. */
const kept = keptAllocations()
if (kept === undefined)
  console.log(`allocations: no figures are kept for Node ${process.versions.node}, so none are compared`)

describe('allocations per call', () => {
  let measured: Awaited<ReturnType<typeof measureAllocations>>
  beforeAll(async () => {
    measured = await measureAllocations()
  }, 120_000)

  it('are at most 10 % above the recorded figures', () => {
    const { allocated } = measured
    if (process.env.UPDATE_ALLOCATIONS !== undefined) keepAllocations(allocated)
    const { more, less } = compareAllocations(keptAllocations() ?? allocated, allocated)
    for (const line of less) console.log(`allocations: ${line}`)
    expect(more).toEqual([])
  })

  it('are free again after minor garbage collections', () => {
    expect(Object.entries(measured.retained).filter(([, bytes]) => bytes > maxRetainedBytes)).toEqual([])
  })

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
