import type { RequestEvent, UpstreamEvent } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Behaviour, createWorld, readResponse, runClockUntil, stopClock } from './router-fixture.ts'
import { delayed, failWith, refuseConnection, succeed } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

const post = (path: string, body: object): Request =>
  new Request(`http://gateway.test${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const embedded: Behaviour = () =>
  Response.json({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }],
    model: 'm',
    usage: { prompt_tokens: 2, total_tokens: 2 },
  })

describe('operations other than chat', () => {
  test.each([
    ['500', failWith(500)],
    ['a refused connection', refuseConnection],
    ['429', failWith(429)],
  ])('retry embeddings on the same target once, then on the next target, after %s', async (_name, bad) => {
    const w = createWorld({ a: bad, b: embedded })
    const answer = await runClockUntil(
      w.gateway.fetch(post('/v1/embeddings', { model: 'm', input: 'hi' })).then(readResponse),
    )
    expect(answer.status).toBe(200)
    expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a', 'a', 'b'])
    expect(w.finished).toHaveLength(1)
    expect(w.finished[0]).toMatchObject({ operation: 'embeddings', upstream: 'b', usage: { input: { total: 2 } } })
  })

  test('repeat an upload completely', async () => {
    const received: Behaviour = () => Response.json({ text: 'hello' })
    const w = createWorld({ a: failWith(500), b: received })
    const form = new FormData()
    form.append('model', 'm')
    form.append('file', new Blob(['sound '.repeat(20_000)], { type: 'audio/wav' }), 'a.wav')
    const request = new Request('http://gateway.test/v1/audio/transcriptions', { method: 'POST', body: form })
    const answer = await runClockUntil(w.gateway.fetch(request).then(readResponse))
    expect([answer.status, answer.json.text]).toEqual([200, 'hello'])
    expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a', 'a', 'b'])
    for (const { text } of w.calls) expect(text.split('sound ').length).toBe(20_001)
  })

  test('share an open circuit with other operations of the same model', async () => {
    const w = createWorld({ a: failWith(500), b: succeed })
    for (let i = 0; i < 5; i++) await runClockUntil(w.chat())
    w.behave('b', embedded)
    await runClockUntil(w.gateway.fetch(post('/v1/embeddings', { model: 'm', input: 'hi' })))
    expect(w.calls.at(-1)?.upstream).toBe('b')
  })
})

describe('plugins', () => {
  test('receive the call and each attempt, and may add headers', async () => {
    const events: RequestEvent[] = []
    const called: UpstreamEvent[] = []
    const w = createWorld(
      { a: failWith(500), b: succeed },
      {
        plugins: [
          {
            name: 'trace',
            onRequest: (event) => void events.push(event),
            onUpstream(event) {
              called.push(event)
              return { traceparent: `attempt ${event.attempt}`, 'x-own': event.reason }
            },
          },
          {
            name: 'broken',
            onUpstream() {
              throw new Error('broken plugin')
            },
          },
        ],
      },
    )
    expect((await runClockUntil(w.chat({}, { traceparent: 'client', tracestate: 'a=1' }))).status).toBe(200)
    expect(events).toMatchObject([{ model: 'm', operation: 'generate', stream: false }])
    expect(called.map(({ upstream, attempt, reason }) => `${upstream} ${attempt} ${reason}`)).toEqual([
      'a 1 first',
      'a 2 retry',
      'b 3 fallback',
    ])
    expect(w.calls.map(({ headers }) => headers.get('traceparent'))).toEqual(['attempt 1', 'attempt 2', 'attempt 3'])
    expect(w.calls.map(({ headers }) => headers.get('x-own'))).toEqual(['first', 'retry', 'fallback'])
    expect(w.calls.every(({ headers }) => headers.get('tracestate') === null)).toBe(true)
    expect(JSON.stringify(w.logged.map(String))).toContain('broken')
  })

  test.each([false, true])('receive the times of the first event and of each attempt (stream: %s)', async (stream) => {
    const w = createWorld({ a: delayed(100, failWith(400 + 3)), b: delayed(120, succeed) })
    await runClockUntil(w.chat({ stream }))
    const [event] = w.finished
    expect(event?.attempts).toMatchObject([
      { upstream: 'a', startedMs: 0, latencyMs: 100, status: 403, error: 'upstream_auth' },
      { upstream: 'b', startedMs: 100, latencyMs: 120, status: 200 },
    ])
    expect(event?.firstEventMs).toBe(220)
    expect(event?.durationMs).toBe(220)
  })

  test("receive the upstream's request id of a failed call", async () => {
    const w = createWorld({ a: failWith(500, { 'x-request-id': 'req-of-a' }), b: succeed })
    await runClockUntil(w.chat())
    expect(w.finished[0]?.attempts[0]?.upstreamRequestId).toBe('req-of-a')
  })
})
