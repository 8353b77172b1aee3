import { describe, expect, it } from 'vitest'
import { createLiveReaders } from './live-readers.ts'
import { type RecentCall, rejectedCallOf } from './recent-call.ts'
import { recentGateway } from './recent-calls.test-support.ts'

const call = (requestId: string, message = ''): RecentCall =>
  rejectedCallOf({
    kind: 'call-rejected',
    requestId,
    identity: null,
    method: 'POST',
    path: '/',
    status: 401,
    error: 'authentication',
    message,
    durationMs: 1,
  })
const all = (): boolean => true
const textOf = ({ value }: IteratorResult<Uint8Array>): string => new TextDecoder().decode(value)

describe('the live stream', () => {
  it('begins with earlier calls and continues with new ones that match', async () => {
    const { ask, read } = recentGateway()
    const earlier = await ask('plain-model')
    const response = await read('api/calls/stream?last=5&model=plain')
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    const until = async (part: string): Promise<void> => {
      while (!text.includes(part)) text += new TextDecoder().decode((await reader.read()).value)
    }
    await until(earlier)
    const other = await ask('failing-model')
    const later = await ask('plain-model')
    await until(later)
    expect(text).not.toContain(other)
    await reader.cancel()
  })

  it('ends when the gateway shuts down', async () => {
    const { gateway, read } = recentGateway()
    const response = await read('api/calls/stream')
    await gateway.close()
    // Without `drain-started`, reading to the end would last until the test's timeout.
    expect(await response.text()).toMatch(/^(:\n\n)?$/)
  })

  it('drops a reader that is too slow, and forgets what it has not read', async () => {
    const live = createLiveReaders()
    const slow = live.open(all, [])[Symbol.asyncIterator]()
    const quick = live.open(all, [])[Symbol.asyncIterator]()
    for (let n = 0; n < 2000; n++) {
      live.send(call(`req_${n}`, 'x'.repeat(200)))
      await quick.next()
    }
    expect(await slow.next()).toEqual({ done: true, value: undefined })
    live.send(call('req_last'))
    expect(textOf(await quick.next())).toContain('req_last')
    live.close()
    expect((await quick.next()).done).toBe(true)
  })

  it('removes a reader that disconnects while it waits for a call', async () => {
    const live = createLiveReaders()
    const iterators = Array.from({ length: 16 }, () => live.open(all, [])[Symbol.asyncIterator]())
    expect(() => live.open(all, [])).toThrow('already 16 readers')
    const [gone] = iterators
    await gone?.next()
    const waiting = gone?.next()
    await gone?.return?.()
    expect(await waiting).toMatchObject({ done: true })
    live.open(all, [])
    live.close()
  })

  it('sends several unread calls as one chunk, in their order', async () => {
    const live = createLiveReaders()
    const reader = live.open(all, [call('req_1')])[Symbol.asyncIterator]()
    live.send(call('req_2'))
    expect(textOf(await reader.next()).match(/req_\d/g)).toEqual(['req_1', 'req_2'])
    live.close()
  })
})
