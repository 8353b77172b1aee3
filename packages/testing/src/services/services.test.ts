import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json.ts'
import { createFakeProvider } from '../index.ts'
import { eventsOf, requestTo } from '../provider/requests.test-support.ts'

const speech = (input: string, more: JsonObject = {}): Request =>
  requestTo('/v1/audio/speech', { model: 'demo-speech', voice: 'ash', input, ...more })
/** A request of each service, with the given text in a place where directives are read. */
const requests: readonly (readonly [string, (words: string) => Request])[] = [
  ['embeddings', (input) => requestTo('/v1/embeddings', { model: 'm', input })],
  ['completions', (prompt) => requestTo('/v1/completions', { model: 'm', prompt })],
  ['moderations', (input) => requestTo('/v1/moderations', { input })],
  ['rerank', (query) => requestTo('/v2/rerank', { model: 'm', query, documents: ['d'] })],
  ['images', (prompt) => requestTo('/v1/images/generations', { model: 'm', prompt, size: '16x16' })],
  ['speech', speech],
  ['embeddings', (text) => requestTo('/v1beta/models/m:embedContent', { content: { parts: [{ text }] } })],
]

describe.each(requests)('service %s', (operation, ask) => {
  it('returns an error status in its provider’s error shape', async () => {
    const provider = createFakeProvider()
    const response = await provider.fetch(ask('[[status:429 retry-after:2]]'))
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('2')
    expect(await response.text()).toMatch(/Rate limit reached|past the per minute|exceeded your current quota/)
    expect(provider.requests[0]).toMatchObject({ operation, format: undefined, status: 429 })
  })

  it('performs the requested fault', async () => {
    const provider = createFakeProvider()
    await expect(provider.fetch(ask('[[reset]]'))).rejects.toThrow('fetch failed')
    const cut = await (await provider.fetch(ask('hello there [[cut after:1]]'))).arrayBuffer()
    const whole = await (await provider.fetch(ask('hello there'))).arrayBuffer()
    expect(cut.byteLength).toBeLessThan(whole.byteLength)
    expect(provider.stats).toEqual({ started: 3, finished: 1, aborted: 0, faulted: 2, open: 0 })
  })

  it('returns the script of a test', async () => {
    const provider = createFakeProvider()
    provider.reply({ status: 503, error: { message: 'down' } }, { body: { own: 1 } }, { raw: { body: 'bytes' } })
    expect(await (await provider.fetch(ask('x'))).text()).toContain('down')
    expect(await (await provider.fetch(ask('x'))).json()).toEqual({ own: 1 })
    expect(await (await provider.fetch(ask('x'))).text()).toBe('bytes')
    const take = provider.on({ operation: 'speech' }, { status: 500 })
    expect((await provider.fetch(ask('x'))).status).toBe(operation === 'speech' ? 500 : 200)
    take()
    expect((await provider.fetch(ask('x'))).status).toBe(200)
  })

  it('requires a key', async () => {
    const provider = createFakeProvider({ apiKey: 'good' })
    expect([400, 401]).toContain((await provider.fetch(ask('x'))).status)
    expect(provider.requests[0]?.finished).toBe(true)
  })
})

describe('streams of services', () => {
  it('of speech contain the same bytes as the file', async () => {
    const provider = createFakeProvider()
    const response = await provider.fetch(speech('hello there', { stream_format: 'sse' }))
    const events = eventsOf(await response.text()).map(({ data }) => data as { type: string; audio?: string })
    expect(events.at(-1)).toMatchObject({ type: 'speech.audio.done', usage: { input_tokens: 2 } })
    const sound = Buffer.concat(events.map(({ audio }) => Buffer.from(audio ?? '', 'base64')))
    const file = await provider.fetch(speech('hello there'))
    expect(new Uint8Array(sound)).toEqual(new Uint8Array(await file.arrayBuffer()))
    expect(provider.requests[0]?.stream).toBe(true)
  })

  it('break with an error event on request', async () => {
    const provider = createFakeProvider()
    const body = { model: 'm', prompt: 'x [[error-event:server_error after:1]]', stream: true, partial_images: 2 }
    const text = await (await provider.fetch(requestTo('/v1/images/generations', body))).text()
    const events = eventsOf(text)
    expect(events).toHaveLength(2)
    expect(events[1]?.data).toMatchObject({ error: { type: 'server_error' } })
  })
})

it('uses the transcript of a test or a directive', async () => {
  const provider = createFakeProvider()
  const ask = async (prompt: string): Promise<string> => {
    const form = new FormData()
    form.set('model', 'm')
    form.set('prompt', prompt)
    form.set('response_format', 'text')
    form.set('file', new Blob(['ID3']), 'a.mp3')
    const headers = { authorization: 'Bearer k' }
    return (
      await provider.fetch('http://fake.invalid/v1/audio/transcriptions', { method: 'POST', headers, body: form })
    ).text()
  }
  provider.reply({ text: 'Good morning.' })
  expect(await ask('x')).toBe('Good morning.\n')
  expect(await ask('[[say:Hello]]')).toBe('Hello\n')
  expect(await ask('x')).toContain('I heard about 0.00 seconds')
})

it('lists the models of every operation', async () => {
  const provider = createFakeProvider()
  const headers = { authorization: 'Bearer k' }
  const { data } = await (await provider.fetch('http://fake.invalid/v1/models', { headers })).json()
  const names = data.map(({ id }: { id: string }) => id)
  expect(names).toEqual(
    expect.arrayContaining(['demo-embedding', 'demo-image', 'demo-transcribe', 'demo-speech', 'demo-rerank']),
  )
})
