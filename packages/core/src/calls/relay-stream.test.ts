import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { monotonicNow } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { ResponseStream, StreamState } from '../lanes/lane.ts'
import { awaitFirstEvent, type RelayEnd, relayStream } from './relay-stream.ts'
import { createPump } from './response-body.ts'
import { finalErrorGraceMs } from './timeout-errors.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (chunk: Uint8Array | undefined) => (chunk === undefined ? '' : new TextDecoder().decode(chunk))

/** Creates a stream of a toy format: `.` is a content event, `!` the terminal event, `E` an error event, anything else preamble. */
function toyStream(): ResponseStream {
  const state: { -readonly [K in keyof StreamState]: StreamState[K] } = {
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
  }
  let ready = ''
  return {
    state,
    push(chunk) {
      for (const char of text(chunk)) {
        ready += char
        if (char === '.') state.started = true
        if (char === '!') state.ended = true
        if (char === 'E') state.error = { kind: 'overloaded', status: 503, message: 'busy' }
      }
    },
    end() {},
    take() {
      if (ready === '') return undefined
      const out = bytes(ready)
      ready = ''
      return out
    },
    heartbeat: () => bytes('~'),
    fail: (error) => bytes(`<${error.kind}>`),
  }
}

type Step = string | number | Error | 'end'
/** Strings are chunks, numbers are pauses in milliseconds. Ends at the end of the list, or never if the last step is `Infinity`. */
async function* script(steps: readonly Step[]): AsyncGenerator<Uint8Array> {
  for (const step of steps) {
    if (step instanceof Error) throw step
    if (typeof step === 'number')
      await (step === Infinity ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, step)))
    else yield bytes(step)
  }
}

async function run(
  steps: readonly Step[],
  options: { heartbeatMs?: number; idleMs?: number; readDelay?: number } = {},
) {
  const ends: RelayEnd[] = []
  const { heartbeatMs = 100, idleMs = 1000, readDelay = 0 } = options
  const out = relayStream(
    createPump(script(steps)),
    toyStream(),
    { heartbeatMs, idleMs },
    new AbortController().signal,
    (end) => ends.push(end),
  )
  let got = ''
  const reading = (async () => {
    for await (const chunk of out) {
      got += text(chunk)
      if (readDelay > 0) await new Promise((resolve) => setTimeout(resolve, readDelay))
    }
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(ends).toHaveLength(1)
  return { got, end: ends[0] as RelayEnd }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('relayStream', () => {
  it.each<[string, Step[], string, RelayEnd['outcome']]>([
    ['forwards a complete response', ['.', '.', '!'], '..!', 'finished'],
    ['forwards nothing after the terminal event', ['.!', 'junk'], '.!', 'finished'],
    ['reports an end without the terminal event as truncated', ['.', '.'], '..<upstream_truncated>', 'failed'],
    ['reports an empty response as truncated', [], '<upstream_truncated>', 'failed'],
    [
      'reports a connection reset mid-stream as truncated',
      ['.', new Error('ECONNRESET')],
      '.<upstream_truncated>',
      'failed',
    ],
    ["ends with the upstream's own error event", ['.', 'E', '.'], '.E', 'failed'],
    [
      'ends with the error of a codec',
      ['.', new GatewayError('upstream_bad_response', 'garbage')],
      '.<upstream_bad_response>',
      'failed',
    ],
    ['sends heartbeats during silence', ['.', 250, '!'], '.~~!', 'finished'],
    [
      'sends heartbeats during a stall and then an idle timeout',
      ['.', Number.POSITIVE_INFINITY],
      `.${'~'.repeat(9)}<upstream_idle_timeout>`,
      'failed',
    ],
  ])('%s', async (_, steps, expected, outcome) => {
    const { got, end } = await run(steps)
    expect(got).toBe(expected)
    expect(end.outcome).toBe(outcome)
  })

  it('does not time out the upstream while the client reads slowly', async () => {
    const { got, end } = await run(['.', '.', '.', '!'], { readDelay: 5000, idleMs: 1000, heartbeatMs: 900 })
    expect(got.replaceAll('~', '')).toBe('...!')
    expect(end.outcome).toBe('finished')
  })

  it('reports one abort and closes the source when the client disconnects mid-stream', async () => {
    const ends: RelayEnd[] = []
    let closed = false
    const source = (async function* () {
      try {
        for (;;) yield bytes('.')
      } finally {
        closed = true
      }
    })()
    const out = relayStream(
      createPump(source),
      toyStream(),
      { heartbeatMs: 100, idleMs: 1000 },
      new AbortController().signal,
      (end) => ends.push(end),
    )
    for await (const _ of out) break
    await vi.advanceTimersByTimeAsync(0)
    expect(closed).toBe(true)
    expect(ends).toEqual([{ outcome: 'aborted' }])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends an unread stream when the signal aborts', async () => {
    const ends: RelayEnd[] = []
    const controller = new AbortController()
    relayStream(
      createPump(script([Number.POSITIVE_INFINITY])),
      toyStream(),
      { heartbeatMs: 100, idleMs: 1000 },
      controller.signal,
      (end) => ends.push(end),
    )
    controller.abort()
    expect(ends).toEqual([{ outcome: 'aborted' }])
  })

  it('ends a silent stream with an error when the gateway stops', async () => {
    const ends: RelayEnd[] = []
    const controller = new AbortController()
    const out = relayStream(
      createPump(script(['.', Number.POSITIVE_INFINITY])),
      toyStream(),
      { heartbeatMs: 1e6, idleMs: 1e6 },
      controller.signal,
      (end) => ends.push(end),
    )
    let got = ''
    const reading = (async () => {
      for await (const chunk of out) got += text(chunk)
    })()
    await vi.advanceTimersByTimeAsync(10)
    controller.abort(new GatewayError('overloaded', 'stopping'))
    await reading
    expect(got).toBe('.<overloaded>')
    expect(ends).toMatchObject([{ outcome: 'failed' }])
  })

  it('adds no error to a complete response when the gateway stops', async () => {
    const ends: RelayEnd[] = []
    const controller = new AbortController()
    const stream = toyStream()
    const pump = createPump(script(['.!']))
    await awaitFirstEvent(pump, stream, 100)
    const out = relayStream(pump, stream, { heartbeatMs: 1e6, idleMs: 1e6 }, controller.signal, (end) => ends.push(end))
    controller.abort(new GatewayError('overloaded', 'stopping'))
    let got = ''
    for await (const chunk of out) got += text(chunk)
    expect(got).toBe('.!')
    expect(ends).toEqual([{ outcome: 'finished' }])
    await vi.runAllTimersAsync()
  })

  it('settles an unread stream when the gateway stops and keeps the final error for the client', async () => {
    const ends: RelayEnd[] = []
    const controller = new AbortController()
    const out = relayStream(
      createPump(script(['.', Number.POSITIVE_INFINITY])),
      toyStream(),
      { heartbeatMs: 1e6, idleMs: 1e6 },
      controller.signal,
      (end) => ends.push(end),
    )[Symbol.asyncIterator]()
    await out.next()
    controller.abort(new GatewayError('overloaded', 'stopping'))
    await vi.advanceTimersByTimeAsync(finalErrorGraceMs)
    expect(ends).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'overloaded' } } }])
    expect(text((await out.next()).value)).toBe('<overloaded>')
    expect((await out.next()).done).toBe(true)
    expect(ends).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends the call if the encoder fails to write the error', async () => {
    const ends: RelayEnd[] = []
    const stream: ResponseStream = {
      ...toyStream(),
      fail: () => {
        throw new Error('broken')
      },
    }
    const { signal } = new AbortController()
    const out = relayStream(createPump(script(['.'])), stream, { heartbeatMs: 100, idleMs: 1000 }, signal, (end) =>
      ends.push(end),
    )
    const reading = (async () => {
      for await (const _ of out);
    })()
    await expect(reading).rejects.toThrow('broken')
    expect(ends).toMatchObject([{ outcome: 'failed' }])
  })

  it('reports a finished stream when the client disconnects right after the terminal event', async () => {
    const ends: RelayEnd[] = []
    const out = relayStream(
      createPump(script(['.!', Number.POSITIVE_INFINITY])),
      toyStream(),
      { heartbeatMs: 100, idleMs: 1000 },
      new AbortController().signal,
      (end) => ends.push(end),
    )
    for await (const _ of out) break
    expect(ends).toEqual([{ outcome: 'finished' }])
    await vi.runAllTimersAsync()
  })
})

describe('a client that reads slowly or not at all', () => {
  /** Starts a relay whose upstream never stops sending. */
  function start(times: { totalMs?: number; clientStallMs?: number; heartbeatMs?: number }) {
    const ends: RelayEnd[] = []
    const cuts: unknown[] = []
    let isClosed = false
    const source = (async function* () {
      try {
        for (;;) {
          yield bytes('.')
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      } finally {
        isClosed = true
      }
    })()
    const now = monotonicNow()
    const { totalMs, ...more } = times
    const body = relayStream(
      createPump(source),
      toyStream(),
      { heartbeatMs: 1e6, idleMs: 1e6, startedAt: now, ...more, ...(totalMs && { totalUntil: now + totalMs }) },
      new AbortController().signal,
      (end) => ends.push(end),
    )
    body.onCut = (error) => cuts.push(error)
    return { body, client: body[Symbol.asyncIterator](), ends, cuts, isClosed: () => isClosed }
  }
  const stalled = { outcome: 'aborted', error: { info: { kind: 'cancelled', code: 'client_stalled' } } }

  it.each([
    ['nothing', 0],
    ['one chunk', 1],
    ['several chunks', 5],
  ])('is disconnected after clientStallMs when it has read %s; its upstream is closed', async (_, reads) => {
    const { client, ends, cuts, isClosed } = start({ clientStallMs: 1000 })
    const reading = (async () => {
      for (let n = 0; n < reads; n++) await client.next()
    })()
    await vi.advanceTimersByTimeAsync(Math.max(0, 10 * (reads - 1)))
    await reading
    await vi.advanceTimersByTimeAsync(999)
    expect(ends).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(ends).toMatchObject([stalled])
    expect(cuts).toMatchObject([{ info: { code: 'client_stalled' } }])
    expect(isClosed() || reads === 0).toBe(true)
    await expect(client.next()).rejects.toThrow('read no byte')
    expect([ends.length, cuts.length, vi.getTimerCount()]).toEqual([1, 1, 0])
  })

  it('is limited by totalMs and receives the error when it reads again', async () => {
    const { client, ends, isClosed } = start({ totalMs: 2000 })
    await client.next()
    await vi.advanceTimersByTimeAsync(2000)
    expect(ends).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_total_timeout' } } }])
    expect(isClosed()).toBe(true)
    expect(text((await client.next()).value)).toContain('<upstream_total_timeout>')
    expect((await client.next()).done).toBe(true)
    expect([ends.length, vi.getTimerCount()]).toEqual([1, 0])
  })

  it('is disconnected after clientStallMs even if totalMs has already ended the call', async () => {
    const { client, ends, cuts } = start({ totalMs: 500, clientStallMs: 1000 })
    await client.next()
    await vi.advanceTimersByTimeAsync(1000)
    expect(ends).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_total_timeout' } } }])
    expect(cuts).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stays connected if it reads slowly but steadily', async () => {
    const { client, ends } = start({ clientStallMs: 1000 })
    for (let n = 0; n < 20; n++) {
      const next = client.next()
      await vi.advanceTimersByTimeAsync(10)
      await next
      await vi.advanceTimersByTimeAsync(900)
    }
    expect(ends).toEqual([])
    await client.return?.()
    expect([ends, vi.getTimerCount()]).toEqual([[{ outcome: 'aborted' }], 0])
  })

  it('causes one timer in total rather than one for each chunk', async () => {
    const made = vi.spyOn(globalThis, 'setTimeout')
    const { client } = start({ clientStallMs: 1e6 })
    made.mockClear()
    const pauses = 50
    for (let n = 0; n < pauses; n++) {
      const next = client.next()
      await vi.advanceTimersByTimeAsync(10)
      await next
    }
    // The source creates one timer for each pause; the pump creates one in total.
    expect(made.mock.calls.length).toBeLessThanOrEqual(pauses + 1)
    await client.return?.()
  })
})

describe('an upstream that sends comments after its first event', () => {
  it('times out after idleMs, like a silent upstream, if it sends nothing else', async () => {
    const comments = Array.from({ length: 40 }, () => [100, ': still there\n\n']).flat()
    const { got, end } = await run(['.', ...comments, '!'], { idleMs: 1000, heartbeatMs: 1e6 })
    expect(end).toMatchObject({ outcome: 'failed', error: { info: { kind: 'upstream_idle_timeout' } } })
    expect(got.endsWith('<upstream_idle_timeout>')).toBe(true)
  })

  it.each([
    ['events between the comments', ': still there\n\n.'],
    ['events without content', 'event: ping\n\n'],
    ['an event after blank lines', '\r\n\r\n.'],
  ])('does not time out if it sends %s', async (_, step) => {
    const { end } = await run(['.', ...Array.from({ length: 40 }, () => [100, step]).flat(), '!'], { idleMs: 1000 })
    expect(end.outcome).toBe('finished')
  })
})

describe('awaitFirstEvent', () => {
  const primed = async (steps: readonly Step[], holdMs = 500) => {
    const stream = toyStream()
    const done = awaitFirstEvent(createPump(script(steps)), stream, holdMs).then(
      () => ({ stream, error: undefined }),
      (error: unknown) => ({ stream, error }),
    )
    await vi.runAllTimersAsync()
    return done
  }

  it('waits for the first content event', async () => {
    const { stream, error } = await primed(['p', 'p', 100, '.', '.'])
    expect(error).toBeUndefined()
    expect(text(stream.take())).toBe('pp.')
  })

  it('waits no longer than the hold', async () => {
    const { stream, error } = await primed(['p', Number.POSITIVE_INFINITY])
    expect(error).toBeUndefined()
    expect(stream.state.started).toBe(false)
  })

  it.each<[string, Step[], string]>([
    ['an error event', ['p', 'E'], 'overloaded'],
    ['an end of the stream', ['p'], 'upstream_bad_response'],
    ['an empty stream', [], 'upstream_bad_response'],
  ])('rejects with the error for %s before the first content event', async (_, steps, kind) => {
    const { error } = await primed(steps)
    expect((error as GatewayError).info.kind).toBe(kind)
  })
})
