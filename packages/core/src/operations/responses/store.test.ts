import { describe, expect, it } from 'vitest'
import { memoryResponseStore } from './store.ts'

describe('the in-memory store', () => {
  it('drops expired entries, and the oldest ones above the limit', () => {
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
    // An entry that is too large removes no other entry and is reported as not stored.
    expect(() => store.set('k', 'x'.repeat(999), 100)).toThrow('1/8 of maxChars (1000)')
    expect([store.get('c'), store.get('k')]).toEqual([value, undefined])
  })

  it('drops the entries of an owner that writes more than its share before those of others', () => {
    const store = memoryResponseStore({ maxChars: 2000 })
    const value = 'x'.repeat(100)
    store.set('ann-1', value, 1000, 'ann')
    store.set('ann-2', value, 1000, 'ann')
    for (let at = 0; at < 100; at++) store.set(`evil-${at}`, value, 1000, 'evil')
    expect([store.get('ann-1'), store.get('ann-2')]).toEqual([value, value])
    expect([store.get('evil-0'), store.get('evil-99')]).toEqual([undefined, value])
  })
})
