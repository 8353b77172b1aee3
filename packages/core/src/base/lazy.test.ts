import { describe, expect, it, vi } from 'vitest'
import { lazy } from './lazy.ts'

describe('lazy', () => {
  it('is a promise until it is there, one for all who ask', async () => {
    const load = vi.fn(async () => 'value')
    const get = lazy(load)
    expect(load).not.toHaveBeenCalled()
    const first = get()
    expect(first).toBeInstanceOf(Promise)
    expect(get()).toBe(first)
    expect(await first).toBe('value')
    expect(get()).toBe('value')
    expect(load).toHaveBeenCalledTimes(1)
  })

  it('may be undefined, and is not loaded again for that', async () => {
    const load = vi.fn(async () => undefined)
    const get = lazy(load)
    await get()
    expect([get(), load.mock.calls.length]).toEqual([undefined, 1])
  })

  it('is tried anew after a failure, which only those are told who wait', async () => {
    let fails = true
    const get = lazy(async () => {
      if (fails) throw new Error('no such file')
      return 'value'
    })
    // Begun early, and awaited by nobody.
    get()
    await new Promise((resolve) => setTimeout(resolve))
    await expect(get()).rejects.toThrow('no such file')
    fails = false
    expect(await get()).toBe('value')
  })
})
