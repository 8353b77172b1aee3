import type { Play, Scene } from '../../base/raw-upstream.ts'
import { answerWell, failing, sleep, within } from '../../base/upstream-responses.ts'
import { type Check, type Setting, type Target, type Way, wayName, waysOf } from '../check.ts'
import { exchange, send } from '../client.ts'
import { timeOthers } from '../faults/time-limits.ts'
import { inParallel, tally } from '../measurements.ts'

/** So long that next to no back-off, which is a random part of it, is over before the client has left. */
const backoffMs = 15_000
/** For how long calls are looked for that should not come. */
const watchMs = 3500

/** Causes of a delay: the upstream's header, or the gateway's own back-off. */
const waits: readonly { readonly name: string; readonly play: Play }[] = [
  { name: 'Retry-After: 1', play: failing(503, { 'retry-after': '1' }) },
  { name: 'a back-off', play: failing(500) },
]

/**
 * For how long a call that comes after the leaving may have been on its way already; where ordinary calls take longer, so long
 * as those: sooner such a gateway cannot notice.
 */
const onTheWayMs = 100

interface Leave {
  readonly what: string
  readonly scene: Scene
  readonly leftAt: number
}

async function leaveOnce(
  { upstream }: Setting,
  target: Target,
  { way, wait, afterMs }: { way: Way; wait: (typeof waits)[number]; afterMs: number },
): Promise<Leave> {
  let failed = (): void => {}
  const failing = new Promise<void>((resolve) => {
    failed = resolve
  })
  const scene = upstream.play((call) => {
    if (call.number > 1) return answerWell(call)
    call.response.once('finish', failed)
    return wait.play(call)
  })
  const outgoing = send(target, { ...way, text: scene.marker })
  await within(10_000, failing)
  await sleep(afterMs)
  const leftAt = performance.now()
  outgoing.destroy()
  return { what: `${wait.name}, ${wayName(way)}`, scene, leftAt }
}

/** Clients that leave while the gateway waits to try again for them. */
export const leavingInBackoff: Check = {
  row: 24,
  group: 'Retries and fallback',
  title: 'Client leaves during back-off',
  promise: '0 further upstream calls of 1,000',
  async run(setting) {
    const fresh = await setting.fresh({ retry: { budgetFloor: 1_000_000, backoffMs, maxBackoffMs: backoffMs } })
    const target = fresh ?? setting.target
    const ways = waysOf(target)
    // A client that stays connected must get a second attempt: otherwise the check proves nothing.
    const stayed = await inParallel(ways, 32, async (way) => {
      const scene = setting.upstream.play((call) => (call.number > 1 ? answerWell(call) : waits[0]?.play(call)))
      const { status } = await exchange(
        target,
        { ...way, text: scene.marker },
        { withinMs: fresh === undefined ? 5000 : 20_000 },
      )
      scene.end()
      return status === 200 && scene.calls.length === 2
    })
    const again = stayed.filter((one) => one).length
    if (again === 0) return { skipped: `${target.name} does not try again by itself` }
    const total = setting.count(1000, 160)
    const jobs = Array.from({ length: total }, (_, place) => ({
      way: ways[place % ways.length] as Way,
      wait: waits[Math.floor(place / ways.length) % waits.length] as (typeof waits)[number],
      afterMs: place % 40,
    }))
    const others = timeOthers(target)
    const leaves = await inParallel(jobs, 50, (job) => leaveOnce(setting, target, job))
    const { mostMs, said } = await others()
    await sleep(watchMs)
    const complaints: string[] = []
    let tooLate = 0
    for (const { what, scene, leftAt } of leaves) {
      scene.end()
      const second = scene.calls[1]
      if (second === undefined) continue
      // Its wait was over before the client left, or just then.
      if (second.at <= leftAt + Math.max(onTheWayMs, mostMs)) tooLate++
      else complaints.push(`${what}: a call ${Math.round(second.at - leftAt)} ms later`)
    }
    const late = tooLate === 0 ? '' : `, ${tooLate} left too late`
    return {
      held: complaints.length === 0 && again === stayed.length,
      figure: `${complaints.length} further upstream calls of ${total - tooLate}${late} (of those that stay, ${again}/${stayed.length} are tried again)`,
      notes: [...tally(complaints), said],
    }
  },
}
