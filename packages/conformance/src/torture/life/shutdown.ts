import { Agent } from 'node:http'
import type { Play, UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sendJson, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, LocalGateway, Pair, Target } from '../check.ts'
import { exchange, type TargetRequest } from '../client.ts'
import { ms, tally } from '../measurements.ts'
import { completenessDefect } from '../read-responses.ts'
import { reloadUnderLoad } from './reload.ts'

/** Number of calls of each kind: streamed and unstreamed. */
const each = 20
/** The drain period, and some time for the last bytes. */
const drainMs = 30_000

/** Returns a good response that takes this long: a stream event by event, a body in two halves. */
const slowly =
  (takesMs: number): Play =>
  async (call: UpstreamCall) => {
    const format = formatOf(call)
    if (!call.stream) {
      await sleep(takesMs)
      return sendJson(call, 200, wholeResponse[format])
    }
    beginStream(call)
    for (const event of good[format]) {
      call.response.write(event)
      await sleep(takesMs / good[format].length)
    }
    call.response.end()
  }

/** Checks a client that connects while the gateway drains: it must be rejected as promised. */
async function comes(target: Target, ask: TargetRequest): Promise<string | undefined> {
  const { status, broken = '' } = await exchange(target, ask, { withinMs: 2000 })
  const turnedAway = status === 503 || (status === 0 && broken.includes('ECONNREFUSED'))
  return turnedAway ? undefined : `a new client received ${status === 0 ? `nothing (${broken})` : status}`
}

interface Ended {
  readonly finished: number
  readonly complaints: readonly string[]
  readonly turnedAway: number
  readonly came: number
  readonly code: number | string
  /** Milliseconds from the signal to the process's exit, and from the last call's end to it. */
  readonly endedMs: number
  readonly lingeredMs: number
}

/** Shuts a gateway down during calls, and checks these calls and later ones. */
async function endAmidCalls(
  { upstream }: CheckContext,
  target: Target & { readonly local: LocalGateway },
  takesMs: number,
): Promise<Ended> {
  const scene = upstream.play(slowly(takesMs))
  const asks = Array.from({ length: 2 * each }, (_, at): TargetRequest => {
    const pair = target.pairs[Math.floor(at / 2) % target.pairs.length] as Pair
    return { ...pair, text: scene.marker, stream: at % 2 === 0 }
  })
  const agent = new Agent({ keepAlive: true })
  // An idle connection must not delay the shutdown.
  const ordinary: TargetRequest = { ...(asks[0] as TargetRequest), text: 'hello', stream: false }
  await exchange(target, ordinary, { agent })
  let lastEnd = 0
  const answers = asks.map(async (ask) => {
    const answer = await exchange(target, ask, { withinMs: drainMs + 5000 })
    lastEnd = performance.now()
    return completenessDefect(ask, answer)
  })
  await scene.arrived(2 * each)
  const begun = performance.now()
  const ending = target.local.close().then((code) => ({ code, at: performance.now() }))
  // A signal takes time to be handled.
  await sleep(100)
  const visits: (string | undefined)[] = []
  const between = (takesMs - 300) / 10
  for (let n = 0; n < 10; n++) {
    visits.push(await comes(target, ordinary))
    await sleep(between / 2)
  }
  const old = await exchange(target, ordinary, { agent, withinMs: 2000 })
  visits.push(
    old.status === 503 || old.status === 0 ? undefined : `a client on an open connection received ${old.status}`,
  )
  const complaints = (await Promise.all(answers)).filter((one) => one !== undefined)
  const { code, at } = await ending
  agent.destroy()
  scene.end()
  return {
    finished: asks.length - complaints.length,
    complaints: [...complaints, ...visits.filter((one) => one !== undefined)],
    turnedAway: visits.filter((one) => one === undefined).length,
    came: visits.length,
    code,
    endedMs: at - begun,
    lingeredMs: at - lastEnd,
  }
}

/** Milliseconds allowed after the last call: for its last bytes, and the sweep of idle connections. */
const lingerMs = 2500

/** A shutdown and a configuration reload under load. */
export const shutdown: Check = {
  row: 40,
  group: 'Shutdown',
  title: 'SIGTERM with 20 streams and 20 JSON calls; configuration reload under load',
  promise: '40/40 finish within drain 30 s; new connections rejected; then exit 0, no handles left; reload 0 failures',
  perServer: true,
  async run(setting) {
    const ending = await setting.fresh({})
    if (ending === undefined)
      return {
        skipped: 'a gateway of others is not shut down, and its configuration is unknown',
      }
    const ended = await endAmidCalls(setting, ending, setting.count(15_000, 2000))
    const reload = await reloadUnderLoad(setting)
    const complaints = [...ended.complaints, ...reload.complaints]
    if (ended.lingeredMs > lingerMs)
      complaints.push(`the process lived on for ${ms(ended.lingeredMs)} after the last call`)
    return {
      held: complaints.length === 0 && ended.code === 0 && ended.finished === 2 * each && ended.endedMs <= drainMs,
      figure:
        `${ended.finished}/${2 * each} finished, ${ended.turnedAway}/${ended.came} later ones rejected, exit ${ended.code}` +
        `${ms(ended.lingeredMs)} after the last; ${reload.failed} of ${reload.calls} calls failed during ${reload.reloads} reloads`,
      notes: tally(complaints),
    }
  },
}
