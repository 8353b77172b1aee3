import type { GatewayConfig } from '@modelgate/core'
import { simpleRequest } from '../base/client-formats.ts'
import { requestTo, upstreamOf } from '../base/gateways.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import {
  advanceClock,
  type Behaviour,
  createWorld,
  type RouterWorld,
  runPendingWork,
  seededRandom,
} from './router-fixture.ts'
import {
  bodyOf,
  completion,
  eventsOf,
  failWith,
  forever,
  neverRespond,
  refuseConnection,
  type Step,
  wait,
} from './router-upstreams.ts'

type UpstreamBehaviour = 'ok' | 'slow' | '400' | '500' | 'refused' | 'silent' | 'cut' | 'idle' | 'event'
export interface Scenario {
  /** Behaviour of the upstream per attempt; the last one repeats. */
  readonly behaviours: readonly UpstreamBehaviour[]
  /** `m`: two targets; `h`: two targets with hedging; `o`: one target. */
  readonly route: 'm' | 'h' | 'o'
  readonly stream?: true
  /** Milliseconds until the client disconnects, or `reading`: after the first data. */
  readonly disconnects?: number | 'reading'
  readonly outcome: 'finished' | 'failed' | 'aborted'
  readonly attempts: number
}

const scenarios: Readonly<Record<string, Scenario>> = {
  ok: { behaviours: ['ok'], route: 'm', outcome: 'finished', attempts: 1 },
  'ok, streamed': { behaviours: ['ok'], route: 'm', stream: true, outcome: 'finished', attempts: 1 },
  retry: { behaviours: ['500', 'ok'], route: 'm', outcome: 'finished', attempts: 2 },
  'retry, streamed': { behaviours: ['refused', 'ok'], route: 'o', stream: true, outcome: 'finished', attempts: 2 },
  fallback: { behaviours: ['silent', 'ok'], route: 'm', outcome: 'finished', attempts: 2 },
  error: { behaviours: ['400'], route: 'm', outcome: 'failed', attempts: 1 },
  outage: { behaviours: ['500'], route: 'm', outcome: 'failed', attempts: 3 },
  timeout: { behaviours: ['silent'], route: 'o', outcome: 'failed', attempts: 1 },
  'aborted before the response': { behaviours: ['slow'], route: 'm', disconnects: 60, outcome: 'aborted', attempts: 1 },
  'aborted during a stream': {
    behaviours: ['slow'],
    route: 'm',
    stream: true,
    disconnects: 'reading',
    outcome: 'aborted',
    attempts: 1,
  },
  'aborted both hedged attempts': {
    behaviours: ['silent'],
    route: 'h',
    disconnects: 180,
    outcome: 'aborted',
    attempts: 2,
  },
  cut: { behaviours: ['cut'], route: 'm', stream: true, outcome: 'failed', attempts: 1 },
  idle: { behaviours: ['idle'], route: 'm', stream: true, outcome: 'failed', attempts: 1 },
  'error event': { behaviours: ['event'], route: 'm', stream: true, outcome: 'failed', attempts: 1 },
  'hedge won': { behaviours: ['slow', 'ok'], route: 'h', outcome: 'finished', attempts: 2 },
  'hedge won, streamed': { behaviours: ['silent', 'ok'], route: 'h', stream: true, outcome: 'finished', attempts: 2 },
}
export const exitNames = Object.keys(scenarios)

export interface Exits {
  readonly world: RouterWorld<'a' | 'b'>
  /** Expected result of each call, by its model name. */
  readonly expected: ReadonlyMap<string, Scenario>
  /** The provider's own totals of complete responses. */
  readonly served: { readonly answers: number; readonly input: number; readonly output: number }
}

/**
 * Runs calls with every kind of outcome in random order, 250 at a time, with a stopped clock and some formats each.
 *
 * @param credentials used by the calls in turn
 */
export async function randomExits(
  total: number,
  {
    config = {},
    credentials = [],
  }: { config?: Partial<GatewayConfig<'a' | 'b'>>; credentials?: readonly string[] } = {},
): Promise<Exits> {
  const random = seededRandom(25)
  const begun = new Map<string, number>()
  const served = { answers: 0, input: 0, output: 0 }

  const provider: Behaviour = async (call) => {
    const model = String(call.body.model)
    const scenario = scenarios[model.split('/')[1] ?? ''] as Scenario
    const nth = begun.get(model) ?? 0
    begun.set(model, nth + 1)
    const deed = scenario.behaviours[Math.min(nth, scenario.behaviours.length - 1)]
    if (deed === '400' || deed === '500') return failWith(Number(deed))(call)
    if (deed === 'refused') return refuseConnection(call)
    if (deed === 'silent') return neverRespond(call)
    const input = 1 + Math.floor(random() * 1000)
    const output = 1 + Math.floor(random() * 1000)
    const charge = (): void => {
      served.answers++
      served.input += input
      served.output += output
    }
    if (call.body.stream !== true) {
      if (deed === 'slow') await wait(300, call.signal)
      return new Response(bodyOf([completion('hello', input, output)], call.signal, charge), {
        headers: { 'content-type': 'application/json' },
      })
    }
    const events: Step[] = eventsOf(['one ', 'two ', 'three'], input, output)
    if (deed === 'slow') events.splice(3, 0, 160)
    if (deed === 'cut') events.splice(3, events.length, 'reset')
    if (deed === 'idle') events.splice(3, 0, forever)
    if (deed === 'event')
      events.splice(3, events.length, 'data: {"error":{"message":"Boom","type":"server_error"}}\n\n')
    return new Response(bodyOf(events, call.signal, charge), { headers: { 'content-type': 'text/event-stream' } })
  }

  const w = createWorld(
    { a: provider, b: provider },
    {
      upstreams: { a: upstreamOf('chat', 'http://a.test'), b: upstreamOf('chat', 'http://b.test') },
      models: { 'm/*': ['a', 'b'], 'h/*': { targets: ['a', 'b'], hedgeMs: 100 }, 'o/*': 'a' },
      limits: { firstByteMs: 400, idleMs: 200 },
      retry: { backoffMs: 20, budgetFloor: 1e9 },
      breaker: false,
      ...config,
    },
  )

  const headersFor = (id: number): Record<string, string> =>
    credentials.length === 0 ? {} : { authorization: `Bearer ${credentials[id % credentials.length]}` }
  const call = async (format: Format, name: string, id: number): Promise<void> => {
    const { route, stream = false, disconnects } = scenarios[name] as Scenario
    const model = `${route}/${name}/${id}`
    const client = new AbortController()
    const body = JSON.stringify({ ...simpleRequest(format, stream), ...(format === 'gemini' ? {} : { model }) })
    const request = new Request(requestTo(format, body, headersFor(id), { model, stream }), { signal: client.signal })
    if (typeof disconnects === 'number') setTimeout(() => client.abort(), disconnects)
    const response = await w.gateway.fetch(request)
    if (disconnects !== 'reading') return void (await response.text().catch(() => ''))
    const reader = response.body?.getReader()
    await reader?.read()
    client.abort()
    await reader?.cancel().catch(() => {})
  }

  const expected = new Map<string, Scenario>()
  for (let id = 0; id < total; ) {
    const batch: Promise<void>[] = []
    for (let i = 0; i < 250; i++, id++) {
      const name = exitNames[Math.floor(random() * exitNames.length)] as string
      const format = formats[Math.floor(random() * formats.length)] as Format
      expected.set(`${scenarios[name]?.route}/${name}/${id}`, scenarios[name] as Scenario)
      batch.push(call(format, name, id))
    }
    let done = false
    const all = Promise.all(batch).finally(() => {
      done = true
    })
    while (!done) await advanceClock(20, 20)
    await all
  }
  await runPendingWork()

  return { world: w, expected, served }
}
