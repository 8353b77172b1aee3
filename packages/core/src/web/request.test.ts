import { describe, expect, it } from 'vitest'
import { requestOf, toInbound, toResponse } from './request.ts'

const never = new Promise<never>(() => {})

describe('the arguments of fetch', () => {
  const request = new Request('http://gw/v1/models', { headers: { a: '1' } })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['nothing that is written', null],
    ["Bun's server", { port: 3000, fetch: () => {}, url: new URL('http://gw/') }],
    ["Deno's info", { remoteAddr: { transport: 'tcp' }, completed: Promise.resolve() }],
    ["a Worker's bindings", { OPENAI_API_KEY: 'sk-1', BUCKET: {} }],
  ])('leave a request as it is beside %s', (_, second) => {
    expect(requestOf(request, second as RequestInit)).toBe(request)
  })

  it.each<[RequestInit, Partial<Request>]>([
    [{ method: 'DELETE' }, { method: 'DELETE' }],
    [{ method: 'POST', body: 'b' }, { method: 'POST' }],
    [{ signal: AbortSignal.abort() }, {}],
    [{ headers: { a: '2' } }, {}],
  ])('change it as fetch does: %j', (init, wanted) => {
    const changed = requestOf(request, init)
    expect(changed).not.toBe(request)
    expect(changed).toMatchObject(wanted)
    if (init.signal) expect(changed.signal.aborted).toBe(true)
    if (init.headers) expect(changed.headers.get('a')).toBe('2')
  })

  it.each(['http://gw/v1/models', new URL('http://gw/v1/models')])('make one of an address', (input) => {
    expect(requestOf(input, { method: 'DELETE' })).toMatchObject({ method: 'DELETE', url: 'http://gw/v1/models' })
  })
})

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
