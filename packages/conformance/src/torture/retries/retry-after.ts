import type { Play, UpstreamCall } from '../../base/raw-upstream.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { failWithRateLimit, failWithStatus, sendGoodResponse, sendJson } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Pair, Profile, Target } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { timeOthers } from '../faults/time-limits.ts'
import { inParallel, ms, tally } from '../measurements.ts'

/** An upstream's retry delay, and the earliest time of the next call. */
interface Statement {
  readonly name: string
  readonly only?: Pair['upstream']
  /**
   * Sends the response. Returns the requested time (ms since 1970), 'back-off' without one, or 'too long' if the client
   * must decide.
   */
  say(call: UpstreamCall): number | 'back-off' | 'too long'
}

const saying = (name: string, headers: Readonly<Record<string, string>>, waitMs: number | 'back-off' | 'too long') =>
  [failWithRateLimit(headers), failWithStatus(503, headers)].map(
    (play, place): Statement => ({
      name: `${name} on ${place === 0 ? 429 : 503}`,
      say(call) {
        void play(call)
        return typeof waitMs === 'number' ? Date.now() + waitMs : waitMs
      },
    }),
  )

const statements: readonly Statement[] = [
  ...saying('Retry-After: 1', { 'retry-after': '1' }, 1000),
  ...saying('retry-after-ms: 700', { 'retry-after-ms': '700' }, 700),
  ...saying('Retry-After: 3600', { 'retry-after': '3600' }, 'too long'),
  {
    name: 'Retry-After as a date',
    say(call) {
      // Dates have whole seconds only.
      const at = Math.ceil(Date.now() / 1000) * 1000 + 1000
      void failWithRateLimit({ 'retry-after': new Date(at).toUTCString() })(call)
      return at
    },
  },
  {
    name: 'RetryInfo of 0.9 s',
    only: 'gemini',
    say(call) {
      const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.900s' }]
      sendJson(call, 429, { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Slow down', details } })
      return Date.now() + 900
    },
  },
  ...['soon', '-5', '1e999', '1 hour', ''].flatMap((value) =>
    saying(`Retry-After: '${value}'`, { 'retry-after': value }, 'back-off').slice(0, 1),
  ),
]

const toleranceMs = 50
/** Longest first back-off by default: the window over which retries without a requested time are spread. */
const backoffMs = 500

interface Seen {
  readonly statement: Statement
  readonly pair: Pair
  readonly answer: HttpResponse
  /** Milliseconds between the second call and the requested time; undefined without a second call. */
  readonly missedMs: number | undefined
  readonly requestedTime: number | 'back-off' | 'too long' | undefined
}

async function tell(
  { upstream }: CheckContext,
  target: Target,
  { statement, pair, model }: { statement: Statement; pair: Pair; model: string },
): Promise<Seen> {
  let requestedTime: Seen['requestedTime']
  let missedMs: number | undefined
  let failedAt = Number.NaN
  const play: Play = (call) => {
    if (call.number === 1) {
      requestedTime = statement.say(call)
      failedAt = Date.now()
      return
    }
    missedMs ??= Date.now() - (typeof requestedTime === 'number' ? requestedTime : failedAt)
    sendGoodResponse(call)
  }
  const scene = upstream.play(play)
  const answer = await exchange(target, { ...pair, model, text: scene.marker }, { withinMs: 8000 })
  scene.end()
  return { statement, pair, answer, missedMs, requestedTime }
}

/** Returns the defect in the gateway's handling, or undefined. */
function wrong({ requestedTime, missedMs, answer }: Seen): string | undefined {
  if (missedMs === undefined) {
    if (requestedTime === 'back-off') return answer.status >= 400 ? undefined : `returned status ${answer.status}`
    const passed = answer.headers['retry-after'] ?? answer.headers['retry-after-ms']
    return answer.status >= 400 && passed !== undefined ? undefined : 'neither waited nor passed on'
  }
  if (requestedTime === 'too long') return `retried after ${ms(missedMs)}`
  if (answer.status !== 200) return `returned status ${answer.status}`
  if (requestedTime === 'back-off')
    return missedMs <= backoffMs + toleranceMs ? undefined : `retried after ${ms(missedMs)} without a requested time`
  return Math.abs(missedMs) <= toleranceMs ? undefined : `retried ${ms(missedMs)} off the requested time`
}

/** Returns the times of the retries of clients that failed together, in milliseconds since the failure. */
async function retriesOf({ upstream }: CheckContext, target: Target, pair: Pair, clients: number): Promise<number[]> {
  const waits: number[] = []
  await Promise.all(
    Array.from({ length: clients }, async () => {
      let failedAt = Number.NaN
      const scene = upstream.play((call) => {
        if (call.number > 1) {
          waits.push(performance.now() - failedAt)
          return sendGoodResponse(call)
        }
        failedAt = performance.now()
        return failWithStatus(503)(call)
      })
      await exchange(target, { ...pair, text: scene.marker }, { withinMs: 5000 })
      scene.end()
    }),
  )
  return waits
}

/** Retry delays requested by upstreams, and the spread of those that are not requested. */
export const retryAfter: Check = {
  row: 21,
  group: 'Retries and fallback',
  title: 'Retry-After seconds / date / garbage / 1 h',
  promise: 'waits ±50 ms or passes it on; 20 clients’ retries spread ≥ 50 % of the window (jitter)',
  async run(setting) {
    const cases = statements.flatMap((statement) =>
      setting.target.pairs
        .filter(({ client, upstream: to }) => !setting.short || client === to)
        .filter((pair) => statement.only === undefined || pair.upstream === statement.only)
        .map((pair) => ({ statement, pair })),
    )
    // Separate upstreams, because a requested delay is a cooldown for all callers.
    const upstreams: NonNullable<Profile['upstreams']> = Object.fromEntries(
      cases.map(({ pair }, place) => [`u${place}`, { format: pair.upstream, baseURL: setting.upstream.origin }]),
    )
    const fresh = await setting.fresh({
      defaults: true,
      upstreams,
      models: Object.fromEntries(Object.keys(upstreams).map((name) => [name, name])),
    })
    const target = fresh ?? setting.target
    if (fresh !== undefined) for (const pair of target.pairs) await exchange(target, { ...pair, text: 'Hello' })
    const others = timeOthers(target)
    const seen = await inParallel(cases, 8, ({ statement, pair }, place) => {
      const model = fresh === undefined ? target.model(pair.upstream) : `u${place}`
      return tell(setting, target, { statement, pair, model })
    })
    const { text: meanwhile } = await others()
    const complaints = seen.flatMap((one) => {
      const complaint = wrong(one)
      return complaint === undefined
        ? []
        : [`${one.statement.name}, ${one.pair.client} from ${one.pair.upstream}: ${complaint}`]
    })
    const waited = seen.flatMap(({ requestedTime, missedMs }) =>
      typeof requestedTime === 'number' ? (missedMs ?? []) : [],
    )
    const passed = seen.filter(({ missedMs }) => missedMs === undefined).length

    const spreader =
      (await setting.fresh({ retry: { budgetFloor: 1_000_000 } })) ?? (target.pairs.length > 0 ? target : undefined)
    const pair = target.pairs[0]
    const waits = spreader === undefined || pair === undefined ? [] : await retriesOf(setting, spreader, pair, 20)
    const spread = waits.length < 2 ? 0 : (Math.max(...waits) - Math.min(...waits)) / backoffMs
    const jitter =
      waits.length === 0
        ? 'it never retries by itself'
        : `${waits.length} clients' retries spread over ${Math.round(spread * 100)} % of ${backoffMs} ms`
    const off = waited.length === 0 ? '' : ` (${Math.min(...waited)} to ${Math.max(...waited)} ms off)`
    return {
      held: complaints.length === 0 && (waits.length === 0 ? fresh === undefined : spread >= 0.5),
      // The results are the times of retries.
      late: true,
      figure: `${seen.length - complaints.length}/${seen.length} correct: ${waited.length} waited as requested${off}, ${passed} passed on; ${jitter} (${formats.length} formats)`,
      notes: [...tally(complaints), meanwhile],
    }
  },
}
