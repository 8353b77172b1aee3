import { StorageAwayError } from '@modelgate/tokens'
import { describe, expect, it } from 'vitest'
import { type Channel, createChannel, type Functions } from './channel.ts'

/** Connects two ends. Messages are cloned, as between processes. */
function connected(left: Functions, right: Functions): { left: Channel; right: Channel; messages: unknown[] } {
  const messages: unknown[] = []
  let toLeft: (message: unknown) => void = () => {}
  let toRight: (message: unknown) => void = () => {}
  const end = (deliver: (message: unknown) => void) => (message: unknown, sent: () => void) => {
    messages.push(message)
    const copy = structuredClone(message)
    setImmediate(() => {
      deliver(copy)
      sent()
    })
  }
  const takeLeft = (listener: typeof toLeft): void => {
    toLeft = listener
  }
  const takeRight = (listener: typeof toRight): void => {
    toRight = listener
  }
  return {
    left: createChannel({ send: end((message) => toRight(message)), receive: takeLeft }, left),
    right: createChannel({ send: end((message) => toLeft(message)), receive: takeRight }, right),
    messages,
  }
}

describe('a channel', () => {
  it('returns results and sends all calls of one turn in one message', async () => {
    const { left, messages } = connected({}, { double: (n: number) => n * 2, none: () => undefined })
    const results = await Promise.all([left.call('double', 1), left.call('double', 2), left.call('none')])
    expect(results).toEqual([2, 4, undefined])
    expect(messages).toHaveLength(2)
  })

  it('sends what can wait with the next message', async () => {
    const { left, messages } = connected({}, { echo: (text: string) => text })
    const soon = left.callSoon('echo', 'soon')
    left.notify('echo', 'noted')
    const now = left.call('echo', 'now')
    expect(await Promise.all([soon, now])).toEqual(['soon', 'now'])
    expect(messages).toHaveLength(2)
    expect(await left.callSoon('echo', 'alone')).toBe('alone')
  })

  it('calls in both directions at once', async () => {
    const { left, right } = connected({ name: () => 'left' }, { name: () => 'right' })
    expect(await Promise.all([left.call('name'), right.call('name')])).toEqual(['right', 'left'])
  })

  it('rejects with the error of the other side, and keeps the class of an unreachable storage', async () => {
    const { left } = connected(
      {},
      {
        away: () => Promise.reject(new StorageAwayError('the disk is full')),
        broken: () => {
          throw new TypeError('no such field')
        },
      },
    )
    await expect(left.call('away')).rejects.toThrow(StorageAwayError)
    // So that the process of the call logs it.
    await expect(left.call('away')).rejects.not.toHaveProperty('isLogged', true)
    await expect(left.call('broken')).rejects.toMatchObject({ name: 'TypeError', message: 'no such field' })
    await expect(left.call('unknown')).rejects.toThrow("there is no function 'unknown'")
    await expect(left.call('toString')).rejects.toThrow("there is no function 'toString'")
  })

  it('rejects open and later calls once the other process has ended', async () => {
    const { left } = connected({}, { never: () => new Promise(() => {}) })
    const open = left.call('never')
    left.end(new Error('worker 1 has ended'))
    await expect(open).rejects.toThrow('worker 1 has ended')
    await expect(left.call('never')).rejects.toThrow('worker 1 has ended')
    left.notify('never')
  })

  it('sends large replies one after the other, so that small ones pass them', async () => {
    const large = 'x'.repeat(100_000)
    const { left, messages } = connected({}, { large: () => large, small: () => 'small' })
    const order: string[] = []
    const ask = (name: string): Promise<void> => left.call(name).then(() => void order.push(name))
    await Promise.all([ask('large'), ask('large'), ask('large'), ask('small')])
    expect(order.at(-1)).toBe('large')
    // The request, three large replies, and the small one.
    expect(messages).toHaveLength(5)
  })

  it('knows that the other process does not read', async () => {
    const sent: (() => void)[] = []
    const channel = createChannel({ send: (_, done) => void sent.push(done), receive() {} }, {})
    for (let n = 0; n < 150; n++) {
      void channel.call('any').catch(() => {})
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(channel.isBehind).toBe(true)
    for (const done of sent) done()
    expect(channel.isBehind).toBe(false)
  })

  it('does not fail if a notification fails', async () => {
    const seen: string[] = []
    const { left } = connected(
      {},
      {
        fail: () => Promise.reject(new Error('failed')),
        say: (text: string) => void seen.push(text),
      },
    )
    left.notify('fail')
    left.notify('say', 'a')
    left.notify('say', 'b')
    await expect.poll(() => seen).toEqual(['a', 'b'])
  })

  it('ignores messages of others', async () => {
    let receive: (message: unknown) => void = () => {}
    const keep = (listener: typeof receive): void => {
      receive = listener
    }
    createChannel({ send() {}, receive: keep }, {})
    for (const message of [undefined, null, 'text', { cmd: 'NODE_CLUSTER' }, { modelgate: 1 }]) receive(message)
  })
})
