import { describe, expect, it } from 'vitest'
import { memoryResponseStore } from './store.ts'

describe('the store in memory', () => {
  it('forgets what is too old, and the oldest of too much', () => {
    let time = 0
    const store = memoryResponseStore({ maxChars: 1000, now: () => time })
    const value = 'x'.repeat(20)
    store.set('a', value, 100)
    store.set('b', value, 200)
    expect([store.get('a'), store.get('b')]).toEqual([value, value])
    time = 100
    expect([store.get('a'), store.get('b')]).toEqual([undefined, value])
    for (const key of ['c', 'd', 'e', 'f', 'g', 'h', 'i']) store.set(key, value, 100)
    expect([store.get('b'), store.get('c')]).toEqual([value, value])
    store.set('j', value, 100)
    expect([store.get('b'), store.get('c')]).toEqual([undefined, value])
    // One that is too large pushes nobody out, and is not said to be kept.
    expect(() => store.set('k', 'x'.repeat(999), 100)).toThrow('more than an eighth of 1000')
    expect([store.get('c'), store.get('k')]).toEqual([value, undefined])
  })
})
