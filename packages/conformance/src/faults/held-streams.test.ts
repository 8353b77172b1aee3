import type { FinishEvent, GatewayConfig } from '@modelgate/core'
import { describe, expect, test } from 'vitest'
import { readStream } from '../base/client-events.ts'
import { clientFormats, simpleRequest } from '../base/client-formats.ts'
import { readableText } from '../base/frames.ts'
import { fetchOf, gatewayTo, requestTo } from '../base/gateways.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import { errorEvent, good, malformed, type Step, scriptedUpstream } from '../base/streams.ts'
import { createWorld } from './router-fixture.ts'
import { eventsOf, forever, streaming, succeed } from './router-upstreams.ts'

// `holdUntil: 'end'`: a stream that breaks is replaced by another attempt, and the client sees one complete stream.

const pairs = clientFormats.flatMap((client) => formats.map((upstream) => ({ client, upstream })))

/** Creates a gateway with two targets, whose upstream sends one stream after the other. */
function heldGateway(
  upstream: Format,
  streams: readonly (readonly Step[])[],
  options: Pick<GatewayConfig, 'limits' | 'retry'> = {},
) {
  const models: string[] = []
  const finished: FinishEvent[] = []
  const gateway = gatewayTo(upstream, {
    fetch: (input, init) => {
      const steps = streams[models.length] ?? []
      models.push(`${String(input)} ${String(init?.body)}`.includes('second') ? 'second' : 'first')
      return scriptedUpstream(steps).fetch(input, init)
    },
    models: { '*': { targets: ['up', { upstream: 'up', model: 'second' }], holdUntil: 'end' } },
    plugins: [{ name: 'finished', onFinish: (event) => void finished.push(event) }],
    limits: { idleMs: 60 },
    retry: { attempts: 2 },
    ...options,
  })
  return { fetch: fetchOf(gateway), models, finished }
}

describe.concurrent.each(pairs)('held stream for a $client client from $upstream', ({ client, upstream }) => {
  const events = good[upstream]
  const read = async (fetch: typeof globalThis.fetch) => {
    const request = requestTo(client, JSON.stringify(simpleRequest(client, true)), {}, { stream: true })
    const response = await fetch(request)
    const text = readableText(new Uint8Array(await response.arrayBuffer()), response.headers.get('content-type'))
    return { status: response.status, ...readStream(client, text) }
  }
  const broken: Readonly<Record<string, readonly Step[]>> = {
    'a reset': [...events.slice(0, 3), 'reset'],
    'a clean end of file': events.slice(0, 3),
    'an end of file within an event': [...events.slice(0, 3), events[3]?.slice(0, 20) ?? ''],
    'a stall': [...events.slice(0, 3), 'hang'],
    'an error event': [...events.slice(0, 3), errorEvent[upstream]],
    'a malformed event': [...events.slice(0, 2), malformed[upstream], ...events.slice(2)],
  }

  test.each(Object.keys(broken))('is replaced by the next target after %s', async (name) => {
    const whole = await read(heldGateway(upstream, [events]).fetch)
    const { fetch, models, finished } = heldGateway(upstream, [broken[name] ?? [], events])
    const answer = await read(fetch)
    expect(models).toEqual(['first', 'second'])
    expect([answer.status, answer.text, answer.errors, answer.broken]).toEqual([200, whole.text, [], []])
    expect(answer.successes).toHaveLength(whole.successes.length)
    expect(answer.events).toHaveLength(whole.events.length)
    expect(finished).toMatchObject([{ outcome: 'finished', attempts: [{ error: expect.any(String) }, {}] }])
  })

  test('reports the failure of the last attempt as a status', async () => {
    const { fetch } = heldGateway(upstream, [broken['a reset'] ?? [], broken['a clean end of file'] ?? []])
    const { status, text } = await read(fetch)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(text).toBe('')
  })
})

describe('a held stream', () => {
  const events = good.chat
  const request = () =>
    requestTo('chat', JSON.stringify({ ...simpleRequest('chat', true), model: 'first' }), {}, { stream: true })

  test('goes on after holdMs, and a later failure is an event of the stream', async () => {
    const { fetch, models } = heldGateway('chat', [[...events.slice(0, 3), 'hang']], {
      limits: { holdMs: 30, idleMs: 100 },
    })
    const response = await fetch(request())
    expect(response.status).toBe(200)
    const { errors, successes } = readStream('chat', await response.text())
    expect([errors.length, successes.length, models]).toEqual([1, 0, ['first']])
  })

  test('goes on once it is larger than the bytes that are kept', async () => {
    const large = `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'x'.repeat(5_000_000) }, finish_reason: null }] })}\n\n`
    const { fetch } = heldGateway('chat', [[large, large, 'hang']], { limits: { idleMs: 100 } })
    const response = await fetch(request())
    expect(response.status).toBe(200)
    expect(readStream('chat', await response.text()).text).toHaveLength(10_000_000)
  })

  test('ends at once when its client disconnects', async () => {
    const world = createWorld(
      { a: streaming([...eventsOf(['one ', 'two ']).slice(0, 3), forever]), b: succeed },
      { models: { m: { targets: ['a', 'b'], holdUntil: 'end' } } },
    )
    const controller = new AbortController()
    const response = world.chat({ stream: true }, {}, controller.signal).catch(() => undefined)
    await expect.poll(() => world.calls.length).toBe(1)
    controller.abort()
    await response
    await expect.poll(() => world.finished.map(({ outcome }) => outcome)).toEqual(['aborted'])
    expect(world.calls).toHaveLength(1)
  })

  test('is complete without [DONE] under the same conditions as any other stream', async () => {
    const body = events.filter((event) => !event.includes('[DONE]')).join('')
    const headers = { 'content-type': 'text/event-stream', 'content-length': String(body.length) }
    const texts = await Promise.all(
      (['first-event', 'end'] as const).map(async (holdUntil) => {
        const models = { '*': { targets: ['up' as const], holdUntil } }
        const gateway = gatewayTo('chat', { fetch: async () => new Response(body, { headers }), models })
        return await (await fetchOf(gateway)(request())).text()
      }),
    )
    expect(texts[1]).toBe(texts[0])
    expect(readStream('chat', texts[1] ?? '').errors).toEqual([])
  })
})
