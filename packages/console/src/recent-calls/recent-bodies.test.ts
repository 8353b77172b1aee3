import type { CallBodies, CapturedBody } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import type { CaptureLimits } from './recent-bodies.ts'
import { createBodyStore, type RecentBodies } from './recent-bodies.ts'
import { canaries, recentGateway } from './recent-calls.test-support.ts'
import type { RecentCallDetails } from './recent-calls.ts'

type Captured = Extract<RecentBodies, { readonly state: 'captured' }>

function capturing(capture: 'bodies' | CaptureLimits = 'bodies', size = 500) {
  const { ask, read, gateway } = recentGateway({ capture, size })
  const bodiesOf = async (id: string): Promise<RecentBodies> => {
    const call = (await (await read(`api/calls/${id}`)).json()) as RecentCallDetails
    return call.bodies
  }
  const captured = async (id: string): Promise<Captured> => {
    const bodies = await bodiesOf(id)
    if (bodies.state !== 'captured') throw new Error(`The bodies are ${bodies.state}`)
    return bodies
  }
  return { ask, read, gateway, bodiesOf, captured }
}

describe('bodies of recent calls', () => {
  it('are not kept by default', async () => {
    const { ask, read } = recentGateway()
    const call = (await (await read(`api/calls/${await ask('plain-model')}`)).json()) as RecentCallDetails
    expect(call.bodies).toEqual({ state: 'off' })
  })

  it.each([false, true])('show both sides of each attempt, streamed: %s', async (stream) => {
    const { ask, captured } = capturing()
    const { request, response, attempts, maxBodyBytes } = await captured(await ask('fallback-model', { stream }))
    expect(maxBodyBytes).toBe(65_536)
    expect(request).toMatchObject({ kind: 'text', contentType: 'application/json', isCut: false, isComplete: true })
    expect(JSON.parse(request?.text ?? '')).toMatchObject({ model: 'fallback-model', stream })
    expect(response?.text).toContain(canaries.answer.split(' ')[0])
    expect(attempts).toMatchObject([
      { index: 0, path: '/v1/chat/completions', response: { text: 'no', size: 2 } },
      { index: 1, path: '/v1/chat/completions', response: { isComplete: true } },
    ])
    expect(JSON.parse(attempts[1]?.request?.text ?? '')).toMatchObject({ model: 'good-model' })
  })

  it('do not appear in lists and in the live stream', async () => {
    const { ask, read, gateway } = capturing()
    await ask('plain-model')
    const stream = await read('api/calls/stream?last=5')
    const list = await (await read('api/calls')).text()
    const text = stream.text()
    await gateway.close()
    for (const all of [list, await text]) {
      expect(all).toContain('plain-model')
      expect(all).not.toMatch(/bodies|canary words/)
    }
  })

  it('of a rejected call are its request and its error', async () => {
    const { ask, captured } = capturing()
    const { request, response, attempts } = await captured(await ask('plain-model', { messages: 5 }))
    expect(request?.text).toContain('"messages":5')
    expect([response?.text, attempts]).toEqual([expect.stringContaining('messages'), []])
  })

  it('are dropped, the oldest first, to stay within the memory; their calls stay', async () => {
    const { ask, bodiesOf } = capturing({ maxTotalBytes: 20_000 })
    const ids: string[] = []
    const messages = [{ role: 'user', content: 'word '.repeat(400) }]
    for (let n = 0; n < 8; n++) ids.push(await ask('plain-model', { messages }))
    const states = await Promise.all(ids.map(async (id) => (await bodiesOf(id)).state))
    expect(states[0]).toBe('dropped')
    expect(states.at(-1)).toBe('captured')
    expect(states.lastIndexOf('dropped')).toBeLessThan(states.indexOf('captured'))
  })

  it('are forgotten with their call', async () => {
    const { ask, read, captured } = capturing('bodies', 1)
    const first = await ask('plain-model')
    await captured(await ask('plain-model'))
    expect((await read(`api/calls/${first}`)).status).toBe(404)
  })

  it('of a call that was rejected before its body was read do not exist', async () => {
    const { gateway, bodiesOf } = capturing()
    const rejected = await gateway.fetch('http://gateway.test/v1/chat/completions', { method: 'POST', body: '{}' })
    expect(await bodiesOf(rejected.headers.get('modelgate-request-id') ?? '')).toEqual({ state: 'none' })
  })

  it.each([
    ['true', true, "'bodies'"],
    ['another word', 'everything', "'bodies'"],
    ['null', null, "'bodies'"],
    ['a list', [], "'bodies'"],
    ['a limit of 0', { maxBodyBytes: 0 }, 'capture.maxBodyBytes is 0'],
    ['a fraction', { maxTotalBytes: 1.5 }, 'capture.maxTotalBytes is 1.5'],
  ])('reject %s as a setting', (_, capture, words) => {
    expect(() => recentGateway({ capture: capture as 'bodies' })).toThrow(words)
  })
})

describe('the store of bodies', () => {
  const body = (text: string): CapturedBody => ({
    kind: 'text',
    contentType: undefined,
    size: text.length,
    isCut: false,
    isShortened: false,
    isComplete: true,
    text: () => text,
  })
  const bodiesOf = (requestId: string, heldBytes: number): CallBodies => ({
    requestId,
    request: body(requestId),
    attempts: [],
    heldBytes,
  })

  it('never holds more than its limit, also if one call needs more', () => {
    const store = createBodyStore({ maxTotalBytes: 100 })
    const stateOf = (...ids: string[]): string[] => ids.map((id) => store.read(id).state)
    store.add(bodiesOf('a', 60))
    store.add(bodiesOf('b', 40))
    expect(stateOf('a', 'b')).toEqual(['captured', 'captured'])
    store.add(bodiesOf('c', 1))
    expect(stateOf('a', 'b', 'c')).toEqual(['dropped', 'captured', 'captured'])
    store.add(bodiesOf('d', 101))
    expect(stateOf('a', 'b', 'c', 'd')).toEqual(['dropped', 'dropped', 'dropped', 'dropped'])
    for (const id of ['a', 'b', 'c', 'd']) store.forget(id)
    expect(stateOf('a', 'd')).toEqual(['none', 'none'])
    store.add(bodiesOf('e', 100))
    expect(stateOf('e')).toEqual(['captured'])
  })
})
