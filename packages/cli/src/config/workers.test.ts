import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import type { ModelgateConfig } from './define-config.ts'
import { workersOf } from './workers.ts'

describe('the number of workers', () => {
  it('is 1, unless the file, the environment or the flag sets it, in this order', () => {
    expect(workersOf({}, {}, {})).toBe(1)
    expect(workersOf({}, {}, { workers: 2 })).toBe(2)
    expect(workersOf({}, { MODELGATE_WORKERS: '3' }, { workers: 2 })).toBe(3)
    expect(workersOf({ workers: '4' }, { MODELGATE_WORKERS: '3' }, { workers: 2 })).toBe(4)
    expect(workersOf({}, { MODELGATE_WORKERS: '' }, {})).toBe(1)
  })

  it('is that of processor cores for auto', () => {
    expect(workersOf({ workers: 'auto' }, {}, {})).toBe(availableParallelism())
    expect(workersOf({}, {}, { workers: 'auto' })).toBe(availableParallelism())
  })

  it.each([
    [{ workers: '0' }, {}, {}, "Invalid --workers '0'"],
    [{ workers: '129' }, {}, {}, "Invalid --workers '129'"],
    [{ workers: '' }, {}, {}, "Invalid --workers ''"],
    [{ workers: '1e1' }, {}, {}, "Invalid --workers '1e1'"],
    [{}, { MODELGATE_WORKERS: 'all' }, {}, "Invalid MODELGATE_WORKERS 'all'"],
    [{}, {}, { workers: 1.5 }, "Invalid workers '1.5'"],
    [{}, {}, { workers: true as unknown as number }, "Invalid workers 'true'"],
  ] satisfies [object, object, ModelgateConfig, string][])('is rejected: %j %j %j', (flags, env, config, message) => {
    expect(() => workersOf(flags, env, config)).toThrow(`${message}: set it to auto, or to a number from 1 to 128.`)
  })
})
