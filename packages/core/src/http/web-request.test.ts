import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { toInbound, toRequest, toResponse } from './web-request.ts'

const never = new Promise<never>(() => {})

describe('the arguments of fetch', () => {
  const request = new Request('http://gw/v1/models', { headers: { a: '1' } })

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ["Bun's server", { port: 3000, fetch: () => {}, url: new URL('http://gw/') }],
    ["Deno's info", { remoteAddr: { transport: 'tcp' }, completed: Promise.resolve() }],
    ["a Worker's bindings", { OPENAI_API_KEY: 'sk-1', BUCKET: {} }],
  ])('leave a request unchanged if the second one is %s', (_, second) => {
    expect(toRequest(request, second as RequestInit)).toBe(request)
  })

  it.each<[RequestInit, Partial<Request>]>([
    [{ method: 'DELETE' }, { method: 'DELETE' }],
    [{ method: 'POST', body: 'b' }, { method: 'POST' }],
    [{ signal: AbortSignal.abort() }, {}],
    [{ headers: { a: '2' } }, {}],
  ])('change the request like fetch does: %j', (init, wanted) => {
    const changed = toRequest(request, init)
    expect(changed).not.toBe(request)
    expect(changed).toMatchObject(wanted)
    if (init.signal) expect(changed.signal.aborted).toBe(true)
    if (init.headers) expect(changed.headers.get('a')).toBe('2')
  })

  it.each(['http://gw/v1/models', new URL('http://gw/v1/models')])('create a request from a URL', (input) => {
    expect(toRequest(input, { method: 'DELETE' })).toMatchObject({ method: 'DELETE', url: 'http://gw/v1/models' })
  })
})

describe('a request body', () => {
  it('that never arrives is cancelled when the client disconnects', async () => {
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

describe('a slow request body', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** Reads a body that begins with `bytes` bytes and sends `eachSecond` more bytes each second. */
  function read(bytes: number, eachSecond: number) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(bytes)),
      async pull(controller) {
        if (eachSecond === 0) return never
        await new Promise((resolve) => setTimeout(resolve, 1000))
        bytes += eachSecond
        controller.enqueue(new Uint8Array(eachSecond))
        if (bytes >= 10_000) controller.close()
      },
    })
    const request = new Request('http://gw/v1/x', { method: 'POST', body, duplex: 'half' } as RequestInit)
    return toInbound(request)
      .read(20_000)
      .then(
        (all) => all.length,
        (error: unknown) => error,
      )
  }

  it.each([
    ['no further bytes', 5000, 0],
    ['one byte per second', 100, 1],
  ])('is rejected with a timeout if the client sends %s', async (_, bytes, eachSecond) => {
    const reading = read(bytes, eachSecond)
    await vi.advanceTimersByTimeAsync(51_000)
    expect(await reading).toMatchObject({ info: { kind: 'timeout', status: 408 } })
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1)
  })

  it('is read completely if it arrives slowly but steadily', async () => {
    const reading = read(0, 100)
    await vi.advanceTimersByTimeAsync(101_000)
    expect(await reading).toBe(10_000)
    expect(vi.getTimerCount()).toBe(0)
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
  it('fails like one of fetch when its signal aborts', async () => expect(await cut(true)).toBe('left'))
  it('is complete when it is read to its end', async () => expect(await cut(false)).toBe('half'))
})

describe('a body that is shorter than announced', () => {
  const read = async (body: string): Promise<string> => {
    const headers = { 'content-length': '500' }
    const inbound = toInbound(new Request('http://gw/v1/chat/completions', { method: 'POST', headers, body }))
    return new TextDecoder().decode(await inbound.read(1000))
  }
  it('is complete if an app replaced the body without updating the headers', async () => {
    expect(await read('{"model":"m"}\n')).toBe('{"model":"m"}\n')
    expect(await read('--a\r\n\r\nx\r\n--a--\r\n')).toHaveLength(17)
  })
  it('is rejected as truncated if it ends in the middle', async () => {
    await expect(read('{"model":"m')).rejects.toMatchObject({ info: { kind: 'request_too_large' } })
  })
})
