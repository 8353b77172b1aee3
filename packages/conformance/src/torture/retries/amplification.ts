import type { Play } from '../../base/raw-upstream.ts'
import {
  failWithRateLimit,
  failWithStatus,
  neverRespond,
  resetConnection,
  resultWithin,
  sendJson,
} from '../../base/upstream-responses.ts'
import { type Check, variantName, variantsOf } from '../check.ts'
import { exchange } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { sdkClients } from './sdk-clients.ts'

/** Permanent upstream failures. None requests a long delay: the SDKs would obey, even for an hour. */
const outages: Readonly<Record<string, Play>> = {
  '503': failWithStatus(503),
  '429': failWithRateLimit(),
  // Mostly on reused connections: simulates a prompt that crashes its server.
  'a reset': resetConnection,
  'an empty body': (call) => sendJson(call, 200, ''),
  '429 with Retry-After: 1': failWithRateLimit({ 'retry-after': '1' }),
  '500': failWithStatus(500),
  silence: neverRespond,
  '529': failWithStatus(529),
  '408': failWithStatus(408),
  '409': failWithStatus(409),
  '502': failWithStatus(502),
  '504': failWithStatus(504),
  '401': failWithStatus(401),
}

/** Clients retry these themselves, and the gateway never asks them not to. */
const overloads: ReadonlySet<number> = new Set([429, 503, 529])

const most = 3
const firstByteMs = 1000

/** Counts upstream calls per user call when both SDK and gateway retry. */
export const amplification: Check = {
  row: 20,
  group: 'Retries and fallback',
  title: 'Amplification',
  promise:
    '≤ 3 upstream calls per user call with SDK defaults on; after our last try `x-should-retry: false`, or `retry-after` for an overload',
  async run(setting) {
    const { upstream, short } = setting
    // No limit on retries: without breaker and retry budget.
    const fresh = await setting.fresh({ retry: { budgetFloor: 1_000_000 }, limits: { firstByteMs } })
    const target = fresh ?? setting.target
    const chosen = Object.entries(outages).filter(
      ([name], place) => (!short || place < 6) && (fresh !== undefined || name !== 'silence'),
    )
    const pairs = target.pairs.filter(({ client, upstream: to }) => !short || client === to)
    const complaints: string[] = []
    let highest = 0
    const bySdk = chosen.flatMap(([outage, play]) =>
      sdkClients.flatMap((client) =>
        pairs.filter((pair) => pair.client === client.format).map((pair) => ({ outage, play, client, pair })),
      ),
    )
    await inParallel(bySdk, 32, async ({ outage, play, client, pair }) => {
      const scene = upstream.play(play)
      const reported = client.ask(target, pair, scene.marker).then(
        () => 'well',
        () => 'an error',
      )
      const end = await resultWithin(40_000, reported)
      scene.end()
      const what = `${client.name} from ${pair.upstream}, ${outage}`
      const { length } = scene.calls
      highest = Math.max(highest, length)
      if (length > most) complaints.push(`${what}: ${length} calls upstream`)
      if (length === 0) complaints.push(`${what}: no call upstream`)
      if (end !== 'an error') complaints.push(`${what}: the SDK reports ${end ?? 'nothing'}`)
    })
    const byHand = chosen.flatMap(([outage, play]) =>
      variantsOf(target)
        .filter(({ client, upstream: to }) => !short || client === to)
        .map((way) => ({ outage, play, way })),
    )
    let retried = 0
    let described = 0
    await inParallel(byHand, 16, async ({ outage, play, way }) => {
      const scene = upstream.play(play)
      const answer = await exchange(target, { ...way, text: scene.marker })
      scene.end()
      if (scene.calls.length < 2) return
      retried++
      const { 'x-should-retry': again, 'retry-after': wait } = answer.headers
      if (overloads.has(answer.status) ? again === undefined && wait !== undefined : again === 'false') described++
      else complaints.push(`${outage}, ${variantName(way)}: x-should-retry ${again}, retry-after ${wait}`)
    })
    return {
      held: complaints.length === 0 && (fresh === undefined || retried > 0),
      figure: `at most ${highest} upstream calls per user call (${bySdk.length} calls of ${sdkClients.length} SDK clients in ${chosen.length} outages); correct retry headers after ${described}/${retried} last attempts`,
      notes: tally(complaints),
    }
  },
}
