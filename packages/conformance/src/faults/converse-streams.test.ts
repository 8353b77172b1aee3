import { bedrock } from '@modelgate/core'
import { eventFrame, exceptionFrame } from '@modelgate/core/test-support'
import { afterAll, describe, expect, test } from 'vitest'
import { sendWithClient } from '../base/all-clients.ts'
import { type ClientFormat, clientFormats, errorNameIn, simpleRequest, statusIn } from '../base/client-formats.ts'
import { readableText } from '../base/frames.ts'
import { fetchOf, gatewayTo, requestTo, upstreamKey } from '../base/gateways.ts'
import { onlyError } from '../base/stream-checks.ts'

// Converse as an upstream, whose streams are binary frames, for clients of every format. There are no recordings of it.

/** A step of the upstream: bytes, or what ends the body without its end. */
type Step = Uint8Array | 'reset' | 'hang'

const delta = (text: string): Uint8Array => eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text } })
/** "one two three". Faults follow the third step. */
const events: readonly Uint8Array[] = [
  eventFrame('messageStart', { role: 'assistant' }),
  delta('one'),
  delta(' two'),
  delta(' three'),
  eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
  eventFrame('messageStop', { stopReason: 'end_turn' }),
  eventFrame('metadata', { usage: { inputTokens: 3, outputTokens: 3, totalTokens: 6 }, metrics: { latencyMs: 1 } }),
]
const begun = events.slice(0, 3)
const exception = exceptionFrame('serviceUnavailableException', { message: `Boom ${upstreamKey} at the provider` })
const damaged = delta(' two').map((byte, at, all) => (at === all.length - 1 ? byte ^ 1 : byte))

const broken: Readonly<Record<string, readonly Step[]>> = {
  'a reset': [...begun, 'reset'],
  'a clean end of file': begun,
  'an end of file within a frame': [...begun, delta(' three').subarray(0, 20)],
  'a stall': [...begun, 'hang'],
  'an exception': [...begun, exception, ...events.slice(3)],
  'a damaged frame': [...begun, damaged, ...events.slice(3)],
}

function upstreamOf(steps: readonly Step[]): typeof fetch {
  return async (_input, init) => {
    const left = [...steps]
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const step = left.shift()
          if (step === undefined) controller.close()
          else if (step === 'reset') controller.error(new Error('ECONNRESET'))
          else if (step !== 'hang') controller.enqueue(step)
          else return new Promise((resolve) => init?.signal?.addEventListener('abort', () => resolve()))
          return undefined
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { headers: { 'content-type': 'application/vnd.amazon.eventstream' } })
  }
}

const converse = bedrock({ region: 'us-east-1', apiKey: upstreamKey, formats: ['converse'] })
const gatewayOf = (steps: readonly Step[]): typeof fetch =>
  fetchOf(gatewayTo('chat', { upstream: converse, fetch: upstreamOf(steps), limits: { idleMs: 150 } }))

const ask = (client: ClientFormat, steps: readonly Step[]) =>
  sendWithClient(client, { fetch: gatewayOf(steps) }, { ...simpleRequest(client, true), stream: true })

async function raw(client: ClientFormat, steps: readonly Step[]) {
  const response = await gatewayOf(steps)(
    requestTo(client, JSON.stringify(simpleRequest(client, true)), {}, { stream: true }),
  )
  const { status, headers } = response
  const text = readableText(new Uint8Array(await response.arrayBuffer()), headers.get('content-type'))
  return { status, text, name: errorNameIn(client, (name) => headers.get(name) ?? undefined) }
}

let checks = 0
afterAll(() => console.log(`faults: ${checks} streams of Converse, every client format`))

describe.concurrent.each(clientFormats)('a stream of Converse for a %s client', (client) => {
  test('is read by the SDK', async () => {
    expect(await ask(client, events)).toMatchObject({ text: 'one two three', usage: { input: 3, output: 3 } })
    checks++
  })

  test.each(Object.keys(broken))('makes the SDK throw after %s', async (name) => {
    await expect(ask(client, broken[name] ?? [])).rejects.toThrow()
    checks++
  })

  test.each(Object.keys(broken))(
    'ends in one error of the dialect, without success and without the upstream key: %s',
    async (name) => {
      const answer = await raw(client, broken[name] ?? [])
      expect(answer.status).toBe(200)
      expect(answer.text).toContain('one')
      const error = onlyError(client, answer)
      if (name === 'an exception') expect(error.message).toContain('at the provider')
      expect(answer.text).not.toContain(upstreamKey)
      checks++
    },
  )

  test('becomes a status if it begins with an exception', async () => {
    const answer = await raw(client, [exception])
    expect([503, 529].map((status) => statusIn(client, status))).toContain(answer.status)
    expect(onlyError(client, answer).message).toContain('at the provider')
    expect(answer.text).not.toContain(upstreamKey)
    checks++
  })
})
