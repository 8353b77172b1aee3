import { Agent } from 'node:http'
import { startRedis, type TestRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, LocalGateway, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { retryWhileSlow } from '../input/watch-process.ts'
import { holdsWithin, ms, percentile, tally } from '../measurements.ts'

type Own = Target & { readonly local: LocalGateway }

/** A way to make Redis unavailable and available again. */
interface Outage {
  readonly name: string
  begin(redis: TestRedis): Promise<void> | void
  end(redis: TestRedis): Promise<void> | void
}

const outages: readonly Outage[] = [
  { name: 'slow', begin: (redis) => redis.freeze(), end: (redis) => redis.thaw() },
  { name: 'killed', begin: (redis) => redis.kill(), end: (redis) => redis.start() },
]

/** Milliseconds of an outage, and of local limits within it. */
const outageMs = 2000
const localMs = 1200
/** Validity of a cached store result (docs/operate/token-storage.md): a recently authenticated caller stays authenticated. */
const cacheMs = 500
/** Maximum time that one call may wait for the store: the limit of an admission is 500 ms (docs/decisions/0015). */
const mostWaitMs = 550
/** Maximum time of a rejection once the outage is known. */
const refusalMs = 20
/** Time until calls succeed again: Redis clients reconnect after up to two seconds. */
const backMs = 8000
/** Requests per window. */
const limit = 30

interface Call {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Milliseconds from the start of the outage to the call. */
  readonly at: number
  readonly ms: number
}

type Caller = (begun?: number) => Promise<Call>

/** Sends calls until the outage ends, with short pauses. */
async function callThrough(call: Caller, begun: number): Promise<Call[]> {
  const calls: Call[] = []
  while (performance.now() - begun < outageMs) {
    calls.push(await call(begun))
    await sleep(20)
  }
  return calls
}

const letIn = (calls: readonly Call[]): number => calls.filter(({ status }) => status === 200).length

/** Describes responses with unexpected statuses. A rejection because of the store must have a Retry-After. */
const unexpected = (what: string, calls: readonly Call[], may: readonly number[]): string[] =>
  calls.flatMap(({ status, retryAfter }) => {
    if (!may.includes(status)) return [`${what}: returned status ${status}`]
    return status === 503 && retryAfter === undefined ? [`${what}: 503 without Retry-After`] : []
  })

interface Weathered {
  readonly outage: string
  /** Times of rejections of a caller whose token cannot be checked. */
  readonly refusedMs: readonly number[]
  /** Additional time of calls compared with a running Redis. */
  readonly longestWaitMs: number
  readonly letInLocally: number
  readonly overspent: number
  readonly backMs: number
  readonly complaints: readonly string[]
}

const isRight = ({ refusedMs, overspent, complaints }: Weathered): boolean =>
  complaints.length === 0 && refusedMs.length > 0 && overspent <= limit

const held = (one: Weathered): boolean =>
  isRight(one) && Math.max(...one.refusedMs) <= refusalMs && one.longestWaitMs <= mostWaitMs

/**
 * Runs one outage with three gateways: one with default settings, which rejects callers whose tokens it cannot check,
 * and two that use cached results and local counts.
 */
async function weather(
  { upstream }: CheckContext,
  [closed, ...local]: readonly [Own, Own, Own],
  redis: TestRedis,
  { name, begin, end }: Outage,
): Promise<Weathered> {
  const complaints: string[] = []
  const scene = upstream.play(sendGoodResponse)
  const agent = new Agent({ keepAlive: true })
  const callerOf =
    ({ secret }: { secret: string }) =>
    (gateway: Target): Caller =>
    async (begun = 0) => {
      const at = performance.now() - begun
      const headers = { authorization: `Bearer ${secret}` }
      const ask = { client: 'chat', upstream: 'chat', text: scene.marker, headers } as const
      const answer = await exchange(gateway, ask, { agent })
      return { status: answer.status, retryAfter: answer.headers['retry-after'], at, ms: answer.endMs }
    }
  const strict = callerOf(await closed.local.issue({ limits: { requests: 1_000_000 } }))(closed)
  const limited = local.map(callerOf(await closed.local.issue({ limits: { requests: limit, window: 'day' } })))
  try {
    const healthy: Call[] = []
    for (let n = 0; n < 40; n++) healthy.push(await strict())
    const before: Call[] = []
    for (const call of limited) for (let n = 0; n < 2; n++) before.push(await call())
    complaints.push(...unexpected(`before Redis was ${name}`, [...healthy, ...before], [200]))
    const usual = percentile(
      healthy.map((call) => call.ms),
      0.5,
    )

    await begin(redis)
    const begun = performance.now()
    const [refused = [], ...counted] = await Promise.all([strict, ...limited].map((call) => callThrough(call, begun)))
    await end(redis)
    const over = performance.now()

    // The call that discovers the outage waits for it; later ones are rejected at once.
    const known = refused.filter(({ at }) => at > cacheMs + mostWaitMs)
    const while_ = counted.flat().filter(({ at }) => at < localMs)
    const later = counted.flat().filter(({ at }) => at > localMs + cacheMs + mostWaitMs)
    complaints.push(
      ...unexpected(`${name}, tokens not cached any more`, known, [503]),
      ...unexpected(`${name}, tokens in the cache`, refused, [200, 503]),
      ...unexpected(`${name}, local limits`, while_, [200, 429]),
      ...unexpected(`${name}, local limits for too long`, later, [503]),
    )

    const isBack = await holdsWithin(async () => (await strict()).status === 200, backMs)
    const backAfter = performance.now() - over
    if (!isBack) complaints.push(`${name}: no call succeeded within ${backMs} ms of its end`)
    // The rest of the window, if any.
    const after: Call[] = []
    for (const call of limited)
      await holdsWithin(async () => {
        const one = await call()
        after.push(one)
        return one.status === 429 || after.length > 3 * limit
      }, backMs)
    const total = letIn(before) + letIn(counted.flat()) + letIn(after)
    return {
      outage: name,
      refusedMs: known.map((call) => call.ms),
      longestWaitMs: Math.max(...[refused, ...counted].flat().map((call) => call.ms - usual)),
      letInLocally: letIn(counted.flat()),
      overspent: Math.max(0, total - limit),
      backMs: backAfter,
      complaints,
    }
  } finally {
    agent.destroy()
    scene.end()
  }
}

/** Tokens and limits in a Redis that is unavailable or slow. */
export const redisOutage: Check = {
  row: 41,
  group: 'Distributed state',
  title: 'Redis killed, 2 s slow, and back',
  promise:
    'auth closed: 503 + Retry-After ≤ 20 ms; limits local, then closed; overspend ≤ one window’s limit; no request waits > 550 ms on the store',
  async run(setting) {
    if (setting.target.local === undefined) return { skipped: 'where it keeps its tokens is not known' }
    if (withoutRedisToKill !== undefined) return { skipped: withoutRedisToKill }
    const redis = await startRedis({ keeps: true })
    try {
      const place = { redis: redis.url, prefix: 'torture:' }
      const started: Own[] = []
      for (const more of [{}, { staleMs: 60_000, localMs }, { staleMs: 60_000, localMs }]) {
        const one = await setting.fresh({ tokens: { ...place, ...more } })
        if (one !== undefined) started.push(one)
      }
      const [closed, first, second] = started
      if (closed === undefined || first === undefined || second === undefined)
        return { skipped: 'it cannot be started with Redis' }
      const results: Weathered[] = []
      for (const outage of outages)
        results.push(await retryWhileSlow(() => weather(setting, [closed, first, second], redis, outage), held))
      return {
        held: results.every(held),
        late: results.every(isRight),
        figure: results
          .map(
            (one) =>
              `${one.outage}: ${one.refusedMs.length} rejected with 503 in ${ms(percentile(one.refusedMs, 0.5))}, longest ${ms(Math.max(...one.refusedMs))};` +
              `longest wait ${ms(one.longestWaitMs)}; ${one.letInLocally} of ${limit} accepted meanwhile, ${one.overspent} overspent; back after ${ms(one.backMs)}`,
          )
          .join(' · '),
        notes: tally(results.flatMap(({ complaints }) => complaints)),
      }
    } finally {
      redis.thaw()
      await redis.close()
    }
  },
}
