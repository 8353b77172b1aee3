import type { Play, Scene } from '../../base/raw-upstream.ts'
import { failWithStatus, resultWithin, sendGoodResponse, sleep } from '../../base/upstream-responses.ts'
import { type Check, type CheckContext, type PairVariant, type Target, variantName, variantsOf } from '../check.ts'
import { exchange, send } from '../client.ts'
import { timeOthers } from '../faults/time-limits.ts'
import { inParallel, tally } from '../measurements.ts'

/** So long that hardly any random back-off ends before the client disconnects. */
const backoffMs = 15_000
/** Time to watch for calls that must not come. */
const watchMs = 3500

/** Causes of a delay: the upstream's header, or the gateway's own back-off. */
const waits: readonly { readonly name: string; readonly play: Play }[] = [
  { name: 'Retry-After: 1', play: failWithStatus(503, { 'retry-after': '1' }) },
  { name: 'a back-off', play: failWithStatus(500) },
]

/**
 * Time that a call after the disconnect may have been in flight, or the duration of ordinary calls if longer: the
 * gateway cannot notice earlier.
 */
const onTheWayMs = 100

interface Leave {
  readonly what: string
  readonly scene: Scene
  readonly leftAt: number
}

async function leaveOnce(
  { upstream }: CheckContext,
  target: Target,
  { way, wait, afterMs }: { way: PairVariant; wait: (typeof waits)[number]; afterMs: number },
): Promise<Leave> {
  let failed = (): void => {}
  const failing = new Promise<void>((resolve) => {
    failed = resolve
  })
  const scene = upstream.play((call) => {
    if (call.number > 1) return sendGoodResponse(call)
    call.response.once('finish', failed)
    return wait.play(call)
  })
  const outgoing = send(target, { ...way, text: scene.marker })
  await resultWithin(10_000, failing)
  await sleep(afterMs)
  const leftAt = performance.now()
  outgoing.destroy()
  return { what: `${wait.name}, ${variantName(way)}`, scene, leftAt }
}

/** Clients that disconnect while the gateway waits for a retry. */
export const disconnectInBackoff: Check = {
  row: 24,
  group: 'Retries and fallback',
  title: 'Client disconnects during back-off',
  promise: '0 further upstream calls of 1,000',
  async run(setting) {
    const fresh = await setting.fresh({ retry: { budgetFloor: 1_000_000, backoffMs, maxBackoffMs: backoffMs } })
    const target = fresh ?? setting.target
    const ways = variantsOf(target)
    // A client that stays connected must get a retry: otherwise the check proves nothing.
    const stayed = await inParallel(ways, 32, async (way) => {
      const scene = setting.upstream.play((call) => (call.number > 1 ? sendGoodResponse(call) : waits[0]?.play(call)))
      const { status } = await exchange(
        target,
        { ...way, text: scene.marker },
        { withinMs: fresh === undefined ? 5000 : 20_000 },
      )
      scene.end()
      return status === 200 && scene.calls.length === 2
    })
    const again = stayed.filter((one) => one).length
    if (again === 0) return { skipped: `${target.name} does not retry by itself` }
    const total = setting.count(1000, 160)
    const jobs = Array.from({ length: total }, (_, place) => ({
      way: ways[place % ways.length] as PairVariant,
      wait: waits[Math.floor(place / ways.length) % waits.length] as (typeof waits)[number],
      afterMs: place % 40,
    }))
    const others = timeOthers(target)
    const leaves = await inParallel(jobs, 50, (job) => leaveOnce(setting, target, job))
    const { mostMs, text } = await others()
    await sleep(watchMs)
    const complaints: string[] = []
    let tooLate = 0
    for (const { what, scene, leftAt } of leaves) {
      scene.end()
      const second = scene.calls[1]
      if (second === undefined) continue
      // The wait ended before the client disconnected, or just then.
      if (second.at <= leftAt + Math.max(onTheWayMs, mostMs)) tooLate++
      else complaints.push(`${what}: a call ${Math.round(second.at - leftAt)} ms later`)
    }
    const lateText = tooLate === 0 ? '' : `, ${tooLate} disconnected too late`
    return {
      held: complaints.length === 0 && again === stayed.length,
      figure: `${complaints.length} further upstream calls of ${total - tooLate}${lateText} (of connected clients, ${again}/${stayed.length} get a retry)`,
      notes: [...tally(complaints), text],
    }
  },
}
