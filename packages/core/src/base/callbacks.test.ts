import { describe, expect, it } from 'vitest'
import { CallbackError, createCanceller, ignoreRejection, settleWithin } from './async.ts'
import { decide, decideNow, logOncePerMinute, observe, observedValue, typeNameOf } from './callbacks.ts'

const collected = () => {
  const lines: unknown[][] = []
  return { lines, log: { error: (...line: unknown[]) => void lines.push(line) } }
}
const never = new Promise<never>(() => {})
const later = <T>(value: T, ms = 20): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), ms))
const laterFailure = (ms = 20): Promise<never> =>
  new Promise((_, reject) => setTimeout(() => reject(new Error('too late')), ms))

describe('settleWithin', () => {
  it('settles like the promise and removes its listener', async () => {
    const canceller = createCanceller()
    let listeners = 0
    const signal = {
      aborted: false,
      reason: undefined,
      addEventListener: () => void listeners++,
      removeEventListener: () => void listeners--,
    }
    expect(await settleWithin(Promise.resolve(1), { name: 'x', ms: 1000, signal })).toBe(1)
    await expect(settleWithin(Promise.reject(new Error('no')), { name: 'x', ms: 1000, signal })).rejects.toThrow('no')
    expect(listeners).toBe(0)
    expect(canceller.aborted).toBe(false)
  })

  it('rejects after the timeout with an error that names the callback and the setting', async () => {
    const failure = await settleWithin(never, { name: 'auth', ms: 5 }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(CallbackError)
    expect((failure as Error).message).toBe(
      'auth did not settle within 5 ms. Settle sooner, or raise limits.callbackMs.',
    )
  })

  it.each(['before', 'meanwhile'])('rejects with the reason of a signal that is aborted %s', async (when) => {
    const canceller = createCanceller()
    if (when === 'before') canceller.abort()
    const waiting = settleWithin(never, { name: 'x', ms: 60_000, signal: canceller })
    canceller.abort()
    await expect(waiting).rejects.toMatchObject({ info: { kind: 'cancelled' } })
  })

  it('passes a late value to onLate and ignores its failure', async () => {
    const delayed: unknown[] = []
    const onLate = (value: unknown): void => {
      delayed.push(value)
      throw new Error('boom')
    }
    await expect(settleWithin(later('value'), { name: 'x', ms: 1, onLateValue: onLate })).rejects.toThrow(
      'did not settle',
    )
    await expect(settleWithin(laterFailure(), { name: 'x', ms: 1, onLateValue: onLate })).rejects.toThrow(
      'did not settle',
    )
    await later(undefined, 40)
    expect(delayed).toEqual(['value'])
  })

  it('accepts thenables that are not promises, and one whose `then` throws', async () => {
    // biome-ignore lint/suspicious/noThenProperty: promises of other realms are not instances of our Promise
    const good = { then: (yes: (value: number) => void) => yes(7) } as unknown as PromiseLike<number>
    // biome-ignore lint/suspicious/noThenProperty: see above
    const bad = { then: () => never.constructor(0) } as unknown as PromiseLike<number>
    expect(await settleWithin(good, { name: 'x', ms: 1000 })).toBe(7)
    await expect(settleWithin(bad, { name: 'x', ms: 1000 })).rejects.toThrow(TypeError)
  })
})

describe('a yes-or-no callback', () => {
  it.each([
    [true, true],
    [false, false],
    [undefined, false],
    [null, false],
    [0, false],
    ['', false],
    [1, false],
    ['yes', false],
    [{}, false],
    [[], false],
  ])('that returns %o means %s, synchronously and as a promise', async (answer, meaning) => {
    const { log, lines } = collected()
    const wait = { name: 'explain', ms: 1000 }
    expect(decide(answer, log, wait)).toBe(meaning)
    expect(decideNow(answer, log, 'when')).toBe(meaning)
    expect(await decide(Promise.resolve(answer), log, wait)).toBe(meaning)
    // A value that was probably meant as true is reported once for each name.
    const truthy = Boolean(answer) && answer !== true
    expect(lines.length).toBe(truthy ? 2 : 0)
  })

  it('that must be synchronous means false if it returns a promise, whose rejection is handled', async () => {
    const { log, lines } = collected()
    expect(decideNow(Promise.resolve(true), log, '`when` of a target')).toBe(false)
    expect(decideNow(laterFailure(1), log, '`when` of a target')).toBe(false)
    expect(lines).toEqual([
      ['modelgate: `when` of a target returned a promise, which counts as false: return true or false synchronously.'],
    ])
    await later(undefined)
  })
})

describe('an observer', () => {
  const owner = { name: 'meter' }
  const boom = new Error('boom')
  it.each<[string, () => unknown, number]>([
    [
      'throws',
      () => {
        throw boom
      },
      1,
    ],
    ['rejects', () => Promise.reject(boom), 1],
    ['never settles', () => never, 0],
    ['returns garbage', () => 'garbage', 0],
    ['resolves to something', async () => 'garbage', 0],
  ])('that %s is logged at most once and ignored', async (_, call, count) => {
    const { log, lines } = collected()
    expect(observe(log, 'onFinish', call, owner)).toBeUndefined()
    await later(undefined, 1)
    expect(lines).toEqual(Array(count).fill(["modelgate: onFinish of plugin 'meter' failed", boom]))
  })

  it('returns only a synchronous value', async () => {
    const { log, lines } = collected()
    expect(observedValue(log, 'costOf', () => 5, owner)).toBe(5)
    expect(observedValue(log, 'costOf', async () => undefined, owner)).toBeUndefined()
    expect(observedValue(log, 'costOf', async () => 5, owner)).toBeUndefined()
    expect(observedValue(log, 'costOf', () => Promise.reject(boom), owner)).toBeUndefined()
    await later(undefined, 1)
    expect(lines).toEqual([
      [
        "modelgate: costOf of plugin 'meter' returned a promise, whose value is ignored: return the value synchronously.",
      ],
      ["modelgate: costOf of plugin 'meter' failed", boom],
    ])
  })
})

it('logs the same message at most once a minute', () => {
  const { log, lines } = collected()
  for (let n = 0; n < 5; n++) logOncePerMinute(log, 'a message')
  logOncePerMinute(log, 'another', 7)
  expect(lines).toEqual([['a message'], ['another', 7]])
})

it('ignores a promise without an unhandled rejection', async () => {
  ignoreRejection(Promise.reject(new Error('nobody waits')))
  ignoreRejection('no promise')
  await later(undefined, 1)
})

it('names types without their values', () => {
  expect([null, [], never, 'secret', 1, undefined, {}].map(typeNameOf)).toEqual([
    'null',
    'a list',
    'a promise',
    'string',
    'number',
    'undefined',
    'object',
  ])
})
