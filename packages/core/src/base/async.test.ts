import { describe, expect, it, vi } from 'vitest'
import { abortSignalOf, createCanceller, lazy } from './async.ts'

describe('a canceller', () => {
  it('calls its listeners once, in order, with the reason, and removes them', () => {
    const canceller = createCanceller()
    const heard: string[] = []
    canceller.addEventListener('abort', () => heard.push(`function ${canceller.reason}`))
    canceller.addEventListener('abort', { handleEvent: () => heard.push('object') })
    canceller.abort('why')
    canceller.abort('again')
    expect(heard).toEqual(['function why', 'object'])
    expect(canceller).toMatchObject({ aborted: true, reason: 'why' })
  })

  it('does not call a removed listener, even if an earlier listener removed it', () => {
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
  it('does not prevent calls of the other listeners', () => {
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
  it('returns an AbortSignal that follows the canceller or is already aborted', () => {
    const canceller = createCanceller()
    const signal = abortSignalOf(canceller)
    expect(signal).toBeInstanceOf(AbortSignal)
    expect(signal.aborted).toBe(false)
    const reason = new Error('why')
    canceller.abort(reason)
    expect(signal.reason).toBe(reason)
    expect(abortSignalOf(canceller)).toMatchObject({ aborted: true, reason })
  })

  it('returns an AbortSignal unchanged', () => {
    const { signal } = new AbortController()
    expect(abortSignalOf(signal)).toBe(signal)
  })
})

describe('lazy', () => {
  it('returns one shared promise until the value is loaded', async () => {
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

  it('does not load an undefined value again', async () => {
    const load = vi.fn(async () => undefined)
    const get = lazy(load)
    await get()
    expect([get(), load.mock.calls.length]).toEqual([undefined, 1])
  })

  it('loads again after a failure, which rejects only awaited calls', async () => {
    let fails = true
    const get = lazy(async () => {
      if (fails) throw new Error('no such file')
      return 'value'
    })
    // This early call is not awaited.
    get()
    await new Promise((resolve) => setTimeout(resolve))
    await expect(get()).rejects.toThrow('no such file')
    fails = false
    expect(await get()).toBe('value')
  })
})
