import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FakeFormat } from '../contract/request.ts'
import { createFakeProvider, type Fault, FaultError, type ListeningProvider, listen } from '../index.ts'
import { bodyOf, call, chatBody, eventsOf, formats, pathOf } from '../provider/requests.test-support.ts'

/** Terminal event of a complete stream. */
const terminal = /\[DONE\]|message_stop|response\.completed|"finishReason"/

/** Sends a request in process and returns the result that the client receives. */
async function inProcess(format: FakeFormat, fault: Fault | Fault[], stream = true) {
  const provider = createFakeProvider()
  provider.reply({ text: 'one two three four five six seven eight nine ten', fault })
  const response = await call(provider, format, 'x', { stream })
  return { provider, response }
}

describe.each(formats)('faults of a %s stream', (format) => {
  it('end cleanly without the terminal event (cut)', async () => {
    const { provider, response } = await inProcess(format, { type: 'cut', after: 5 })
    const text = await response.text()
    expect(eventsOf(text)).toHaveLength(5)
    expect(text).not.toMatch(terminal)
    expect(provider.stats).toMatchObject({ faulted: 1, finished: 0, open: 0 })
    expect(provider.requests[0]).toMatchObject({ finished: false, aborted: false, status: 200 })
  })

  it('end within an event (cut-event)', async () => {
    const { response } = await inProcess(format, { type: 'cut-event', after: 3 })
    const text = await response.text()
    expect(text).not.toMatch(/\r?\n\r?\n$/)
    expect(text.split(/\r?\n\r?\n/)).toHaveLength(4)
  })

  it('send one broken event, and the rest unchanged (garbage)', async () => {
    const { response } = await inProcess(format, { type: 'garbage', after: 2 })
    const text = await response.text()
    expect(text).toContain('data: {"broken": \n\n')
    expect(text).toMatch(terminal)
  })

  it('send the format’s own error, and nothing after it (error-event)', async () => {
    const { response } = await inProcess(format, { type: 'error-event', after: 3, error: 'overloaded_error' })
    const text = await response.text()
    const words = expect.stringMatching(/overloaded/i)
    const openai = { message: words, type: 'overloaded_error', param: null, code: null }
    const reported = { chat: { error: openai }, messages: { type: 'overloaded_error', message: words } }
    if (format === 'chat') expect(eventsOf(text).at(-1)).toEqual({ event: undefined, data: reported.chat })
    if (format === 'messages') {
      const data = { type: 'error', error: reported.messages, request_id: expect.any(String) }
      expect(eventsOf(text).at(-1)).toEqual({ event: 'error', data })
    }
    if (format === 'responses') {
      const [error, failed] = eventsOf(text).slice(-2)
      const shown = { ...openai, code: 'overloaded_error' }
      expect(error).toEqual({ event: 'error', data: { type: 'error', error: shown, sequence_number: 3 } })
      const response = {
        status: 'failed',
        error: { code: 'overloaded_error', message: words },
        output: [],
        usage: null,
      }
      expect(failed).toMatchObject({
        event: 'response.failed',
        data: { type: 'response.failed', sequence_number: 4, response },
      })
    }
    if (format === 'gemini') {
      // As recorded: bare JSON without `data:`.
      const bare = JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n')))
      expect(bare).toEqual({ error: { code: 503, message: words, status: 'UNAVAILABLE' } })
    }
  })

  it('break the connection before the headers or after a number of events (reset)', async () => {
    const provider = createFakeProvider()
    provider.reply({ fault: { type: 'reset' } }, { text: 'one two', fault: { type: 'reset', after: 2 } })
    await expect(call(provider, format, 'x')).rejects.toBeInstanceOf(FaultError)
    const response = await call(provider, format, 'x', { stream: true })
    await expect(response.text()).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } })
    expect(provider.stats).toMatchObject({ started: 2, faulted: 2, open: 0 })
  })

  it('reject the call like a refused connection (refuse)', async () => {
    const provider = createFakeProvider()
    provider.reply({ fault: { type: 'refuse' } })
    await expect(call(provider, format, 'x')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  })

  it('send nothing more until the client disconnects (stall)', async () => {
    const { provider, response } = await inProcess(format, { type: 'stall', after: 2 })
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.read()
    const third = reader?.read()
    expect(await Promise.race([third, new Promise((resolve) => setTimeout(resolve, 40, 'silent'))])).toBe('silent')
    expect(provider.stats.open).toBe(1)
    await reader?.cancel()
    expect(provider.requests[0]?.aborted).toBe(true)
    expect(provider.stats.open).toBe(0)
  })

  it('wait before each event (slow)', async () => {
    const started = performance.now()
    const { response } = await inProcess(format, { type: 'slow', ms: 10 })
    await response.text()
    expect(performance.now() - started).toBeGreaterThan(90)
  })

  it('continue one line without end for as long as it is read (endless-line)', async () => {
    const { provider, response } = await inProcess(format, { type: 'endless-line', bytes: 300_000 })
    const text = await response.text()
    expect(text).toHaveLength(300_000)
    expect(text).not.toContain('\n')
    expect(provider.stats.faulted).toBe(1)
  })
})

describe.each(formats)('faults of a %s JSON response', (format) => {
  it.each([
    ['html', { type: 'html' }, (text: string) => text.startsWith('<!DOCTYPE html>')],
    ['empty', { type: 'empty' }, (text: string) => text === ''],
    ['cut', { type: 'cut', after: 2 }, (text: string) => text.length === 128],
    ['garbage', { type: 'garbage', after: 1 }, (text: string) => text.includes('data: {"broken"')],
  ] satisfies [string, Fault, (text: string) => boolean][])('end as declared: %s', async (_name, fault, holds) => {
    const { response } = await inProcess(format, fault, false)
    expect(response.status).toBe(200)
    expect(holds(await response.text())).toBe(true)
  })

  it('turn an error event into the status of its type', async () => {
    const { response } = await inProcess(format, { type: 'error-event', after: 3, error: 'overloaded_error' }, false)
    expect(response.status).toBe(format === 'messages' ? 529 : 503)
  })
})

it('produces a body no faster than it is read', async () => {
  const provider = createFakeProvider()
  let made = 0
  provider.reply(() => ({
    events: Array.from({ length: 1000 }, (_, index) => ({
      get data() {
        made++
        return String(index)
      },
    })),
  }))
  const response = await call(provider, 'chat', 'x', { stream: true })
  const before = made
  const reader = response.body?.getReader()
  for (let index = 0; index < 3; index++) await reader?.read()
  expect(made - before).toBeLessThan(10)
  await reader?.cancel()
  expect(provider.stats).toMatchObject({ aborted: 1, open: 0 })
})

it('rejects a call with the abort reason if its signal is aborted before the headers', async () => {
  const provider = createFakeProvider()
  provider.reply({ fault: { type: 'stall' } })
  const controller = new AbortController()
  const pending = provider.fetch('http://fake.invalid/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body: JSON.stringify(chatBody('x')),
    signal: controller.signal,
  })
  const failed = expect(pending).rejects.toThrow('gone')
  await new Promise((resolve) => setTimeout(resolve, 5))
  controller.abort(new Error('gone'))
  await failed
  expect(provider.requests[0]).toMatchObject({ aborted: true, status: undefined })
})

describe('faults on a socket', () => {
  const provider = createFakeProvider()
  let server: ListeningProvider
  beforeAll(async () => {
    server = await listen(provider)
  })
  afterAll(() => server.close())
  beforeEach(() => provider.reset())

  interface Got {
    status?: number | undefined
    text: string
    error?: string | undefined
  }
  function get(format: FakeFormat, text: string, stream = true): Promise<Got> {
    return new Promise((resolve) => {
      const got: Got = { text: '' }
      const fail = (error: NodeJS.ErrnoException) => resolve({ ...got, error: error.code ?? error.message })
      const headers = {
        'content-type': 'application/json',
        authorization: 'Bearer k',
        ...(format === 'gemini' ? { 'x-goog-api-key': 'k' } : { 'anthropic-version': '2023-06-01' }),
      }
      const outgoing = httpRequest(`${server.origin}${pathOf(format, stream)}`, {
        method: 'POST',
        headers,
        agent: false,
      })
      outgoing.on('error', fail)
      outgoing.on('response', (incoming: IncomingMessage) => {
        got.status = incoming.statusCode
        incoming.setEncoding('utf8').on('data', (part: string) => {
          got.text += part
        })
        incoming.on('error', fail)
        incoming.on('end', () => resolve(got))
      })
      outgoing.end(JSON.stringify(bodyOf(format, text, stream)))
    })
  }

  it.each(formats)(
    'reset the connection of a %s stream before the headers and after a number of events',
    async (format) => {
      expect(await get(format, '[[reset]]')).toMatchObject({ error: 'ECONNRESET', text: '' })
      const delayed = await get(format, '[[reset after:3]]')
      expect(delayed).toMatchObject({ status: 200, error: 'ECONNRESET' })
      expect(eventsOf(delayed.text)).toHaveLength(3)
    },
  )

  it.each(formats)(
    'break a %s body with a content-length that is too long, and truncate it with one that is too short',
    async (format) => {
      expect(await get(format, '[[content-length:50]]', false)).toMatchObject({
        status: 200,
        error: expect.any(String),
      })
      provider.reply({ text: 'hello', fault: { type: 'content-length', by: -10 } })
      const short = await get(format, 'x', false)
      expect(() => JSON.parse(short.text)).toThrow()
    },
  )

  it.each(formats)('end a cut %s stream with a clean end of file', async (format) => {
    const got = await get(format, '[[cut after:4]]')
    expect(got.error).toBeUndefined()
    expect(eventsOf(got.text)).toHaveLength(4)
  })

  it('include disconnects, which are detected before the headers and in the stream', async () => {
    for (const text of ['[[stall]]', '[[stall after:3]]']) {
      provider.reset()
      const controller = new AbortController()
      const call = fetch(`${server.url}/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer k' },
        body: JSON.stringify(chatBody(text, { stream: true })),
        signal: controller.signal,
      }).then((response) => response.text())
      const failed = expect(call).rejects.toThrow()
      await expect.poll(() => provider.stats.open).toBe(1)
      await new Promise((resolve) => setTimeout(resolve, 20))
      controller.abort()
      await failed
      await expect.poll(() => provider.stats).toMatchObject({ aborted: 1, open: 0 })
    }
  })

  it('include disconnects, which are detected after garbage collection', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const controllers = Array.from({ length: 20 }, () => new AbortController())
    const calls = controllers.map((controller, index) =>
      fetch(`${server.url}/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer k' },
        body: JSON.stringify(chatBody(index % 2 === 0 ? '[[stall]]' : '[[stall after:3]]', { stream: true })),
        signal: controller.signal,
      }).then((response) => response.text()),
    )
    const failed = Promise.allSettled(calls)
    await expect.poll(() => provider.stats.open).toBe(20)
    await new Promise((resolve) => setTimeout(resolve, 30))
    collect()
    await new Promise((resolve) => setTimeout(resolve, 30))
    collect()
    for (const controller of controllers) controller.abort()
    await failed
    await expect.poll(() => provider.stats).toMatchObject({ aborted: 20, open: 0 })
  })

  it('refuse connections on request, and accept them again on the same port', async () => {
    await server.refuse()
    expect(await get('chat', '[[say:x]]')).toMatchObject({ error: 'ECONNREFUSED' })
    await server.accept()
    expect(await get('chat', '[[say:back]]')).toMatchObject({ status: 200 })
  })

  it('send an endless line as fast as it is read, and stop without a reader', async () => {
    const controller = new AbortController()
    const response = await fetch(`${server.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer k' },
      body: JSON.stringify(chatBody('[[endless-line after:1]]', { stream: true })),
      signal: controller.signal,
    })
    const reader = response.body?.getReader()
    let read = 0
    while (read < 2_000_000) read += (await reader?.read())?.value?.byteLength ?? Number.POSITIVE_INFINITY
    controller.abort()
    await expect.poll(() => provider.stats.open).toBe(0)
  })
})
