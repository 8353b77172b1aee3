import type { Play } from '../../base/raw-upstream.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import {
  beginStream,
  failWithStatus,
  resetConnection,
  sendGoodResponse,
  sendJson,
} from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { tally } from '../measurements.ts'
import { asTenant, inFolder, withTokens } from '../secrets/callers.ts'

/** Ways in which an upstream fails one caller's requests only. */
const ways: Readonly<Record<string, Play>> = {
  500: failWithStatus(500),
  503: failWithStatus(503),
  504: failWithStatus(504),
  401: failWithStatus(401),
  403: failWithStatus(403),
  'a web page': (call) => sendJson(call, 200, '<html></html>', { 'content-type': 'text/html' }),
  'a reset': resetConnection,
  'an interrupted stream': (call) => {
    beginStream(call)
    setTimeout(() => call.socket.resetAndDestroy(), 10)
  },
}

/** A failing caller whose calls reach the upstream more often than this is not blocked from it. */
const mostReached = 20

interface CallerEffect {
  readonly others: number
  readonly failed: number
  readonly complaints: readonly string[]
}

/** One caller's calls to a target fail in one way, while another caller uses it. */
async function fail(
  { upstream, count }: CheckContext,
  hostile: Target,
  other: Target,
  { format, name, play }: { readonly format: Format; readonly name: string; readonly play: Play },
): Promise<CallerEffect> {
  const bad = upstream.play(play)
  const good = upstream.play(sendGoodResponse)
  const pair = { client: format, upstream: format }
  const complaints: string[] = []
  let others = 0
  let failed = 0
  const askWell = async (): Promise<void> => {
    others++
    const { status, broken } = await exchange(other, { ...pair, text: good.marker })
    if (status === 200) return
    failed++
    complaints.push(`${format}, ${name}: another caller received ${broken ?? status}`)
  }
  for (let round = 0; round < count(10, 3); round++) {
    const calls = Array.from({ length: 6 }, (_, at) =>
      exchange(hostile, { ...pair, text: bad.marker, stream: at % 2 === 1 }),
    )
    await askWell()
    await Promise.all(calls)
    await askWell()
  }
  const before = bad.calls.length
  await exchange(hostile, { ...pair, text: bad.marker })
  if (bad.calls.length > before && before > mostReached)
    complaints.push(`${format}, ${name}: the failing caller was not blocked after ${before} calls`)
  bad.end()
  good.end()
  return { others, failed, complaints }
}

/** One caller's requests do not affect a target's health for other callers. */
export const healthIsolation: Check = {
  row: 50,
  group: 'Isolation',
  title: 'One caller makes upstreams fail',
  promise:
    'requests of one identity that make an upstream fail, in every way, block no other identity from it; the failing identity itself is blocked',
  run: (setting) =>
    inFolder(async (folder) => {
      const gateway = await withTokens(setting, folder, { defaults: true })
      if (gateway === undefined)
        return { skipped: `${setting.target.name} needs several tokens, which only its owner can issue` }
      const tenant = async (owner: string): Promise<Target> =>
        asTenant(gateway, (await gateway.local.issue({ owner })).secret)
      const other = await tenant('other')
      const harms = await Promise.all(
        formats.map(async (format) => {
          const found: CallerEffect[] = []
          for (const [name, play] of Object.entries(ways))
            found.push(await fail(setting, await tenant(`${format} ${name}`), other, { format, name, play }))
          return found
        }),
      )
      const all = harms.flat()
      const sum = (of: (harm: CallerEffect) => number): number => all.reduce((total, harm) => total + of(harm), 0)
      const complaints = all.flatMap((harm) => harm.complaints)
      const others = sum((harm) => harm.others)
      return {
        held: complaints.length === 0,
        figure: `${others - sum((harm) => harm.failed)}/${others} calls of others succeeded while ${all.length} callers made ${formats.length} targets fail in ${Object.keys(ways).length} ways`,
        notes: tally(complaints),
      }
    }),
}
