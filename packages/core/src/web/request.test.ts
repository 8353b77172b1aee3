import { describe, expect, it } from 'vitest'
import { toInbound, toResponse } from './request.ts'

const never = new Promise<never>(() => {})

describe('a request body', () => {
  it('that never comes ends with the client', async () => {
    const controller = new AbortController()
    const cancelled: unknown[] = []
    const body = new ReadableStream({ pull: () => never, cancel: (reason) => void cancelled.push(reason) })
    const init = { method: 'POST', body, duplex: 'half', signal: controller.signal }
    const reading = toInbound(new Request('http://gw/', init as RequestInit)).read(100)
    controller.abort(new Error('left'))
    await expect(reading).rejects.toMatchObject({ info: { kind: 'cancelled' } })
    expect(cancelled).toHaveLength(1)
  })
})

describe('a streamed response', () => {
  const cut = async (aborts: boolean): Promise<string> => {
    const controller = new AbortController()
    async function* body(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('half')
      if (aborts) controller.abort(new Error('left'))
    }
    const response = toResponse({ status: 200, headers: {}, body: body() }, 'POST', controller.signal)
    return response.text().catch((error: Error) => error.message)
  }
  it('that its signal cut short fails, as one of fetch does', async () => expect(await cut(true)).toBe('left'))
  it('that came to its end is whole', async () => expect(await cut(false)).toBe('half'))
})
