import { describe, expect, it, vi } from 'vitest'
import { abortSignalOf, createCanceller, lazy } from './async.ts'

describe('a canceller', () => {
  it('tells its listeners once, with the reason, in order, and forgets them', () => {
    const canceller = createCanceller()
    const heard: string[] = []
    canceller.addEventListener('abort', () => heard.push(`function ${canceller.reason}`))
    canceller.addEventListener('abort', { handleEvent: () => heard.push('object') })
    canceller.abort('why')
    canceller.abort('again')
    expect(heard).toEqual(['function why', 'object'])
    expect(canceller).toMatchObject({ aborted: true, reason: 'why' })
  })

  it('does not tell a listener that was removed, not even by one before it', () => {
    const canceller = createCanceller()
    const heard: string[] = []
    const first = (): void => void heard.push('first')
    const third = (): void => void heard.push('third')
    canceller.addEventListener('abort', first)
    canceller.addEventListener('abort', () => canceller.removeEventListener('abort', third))
    canceller.addEventListener('abort', third)
    canceller.removeEventListener('abort', first)
    canceller.abort()
    expect(heard).toEqual([])
  })
})

describe('a listener that fails', () => {
  it('does not keep the others from being told', () => {
    const canceller = createCanceller()
    const heard: string[] = []
    canceller.addEventListener('abort', () => {
      throw new Error('broken')
    })
    canceller.addEventListener('abort', () => heard.push('second'))
    canceller.addEventListener('abort', { handleEvent: () => heard.push('third') })
    expect(() => canceller.abort()).toThrow('broken')
    expect(heard).toEqual(['second', 'third'])
  })
})

describe('abortSignalOf', () => {
  it('gives a real signal that follows, or is aborted already', () => {
    const canceller = createCanceller()
    const signal = abortSignalOf(canceller)
    expect(signal).toBeInstanceOf(AbortSignal)
    expect(signal.aborted).toBe(false)
    const reason = new Error('why')
    canceller.abort(reason)
    expect(signal.reason).toBe(reason)
    expect(abortSignalOf(canceller)).toMatchObject({ aborted: true, reason })
  })

  it('leaves a real one as it is', () => {
    const { signal } = new AbortController()
    expect(abortSignalOf(signal)).toBe(signal)
  })
})

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
