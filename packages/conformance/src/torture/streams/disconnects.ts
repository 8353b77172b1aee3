import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Play, Scene, UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, resultWithin, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import type { CheckContext, Pair, Target } from '../check.ts'
import { send } from '../client.ts'
import { inParallel } from '../measurements.ts'
import { type Baseline, baselineOf } from './baseline.ts'

/** The moment of a disconnect: the upstream's progress. */
export interface Moment {
  readonly name: string
  readonly stream: boolean
  readonly play: Play
  /** Resolves at the moment. */
  ripe(outgoing: ClientRequest, scene: Scene): Promise<void>
}

/** Time for sent data to reach the gateway, though not necessarily the client. */
const underwayMs = 10

const sendHead = (call: UpstreamCall): void => {
  if (call.stream) beginStream(call)
  else call.response.writeHead(200, { 'content-type': 'application/json' })
}

const firstData = (outgoing: ClientRequest): Promise<void> =>
  new Promise((resolve, reject) => {
    outgoing.once('response', (response: IncomingMessage) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      response.once('data', () => resolve())
      response.on('error', () => {})
    })
    outgoing.once('error', reject)
  })

const arrived = async (_: ClientRequest, scene: Scene): Promise<void> => void (await scene.arrived())
const underway = async (_: ClientRequest, scene: Scene): Promise<void> => {
  await scene.arrived()
  await sleep(underwayMs)
}

/** The four moments of the promise; two of them also apply to unstreamed calls. */
export const moments: readonly Moment[] = [
  { name: 'before the headers', stream: true, play() {}, ripe: arrived },
  { name: 'before the first event', stream: true, play: sendHead, ripe: underway },
  {
    name: 'mid-stream',
    stream: true,
    play(call) {
      sendHead(call)
      const [opening = '', word = ''] = good[formatOf(call)]
      call.response.write(opening)
      // Ends for a client that never disconnects.
      let left = 1000
      const timer = setInterval(() => (left-- > 0 ? call.response.write(word) : clearInterval(timer)), 3)
      void call.closed.then(() => clearInterval(timer))
    },
    ripe: firstData,
  },
  {
    name: 'in a silent stream',
    stream: true,
    play(call) {
      sendHead(call)
      for (const event of good[formatOf(call)].slice(0, 3)) call.response.write(event)
    },
    async ripe(outgoing) {
      await firstData(outgoing)
      await sleep(underwayMs)
    },
  },
  { name: 'JSON, before the headers', stream: false, play() {}, ripe: arrived },
  {
    name: 'JSON, within the body',
    stream: false,
    play(call) {
      sendHead(call)
      call.response.write(JSON.stringify(wholeResponse[formatOf(call)]).slice(0, 60))
    },
    ripe: underway,
  },
]

/** A connection that is still open after this time breaks the promise, whose slowest hundredth has 100 ms. */
const patienceMs = 2000
const width = 4
/** If the first disconnects of a moment all fail, the others are skipped. */
const enough = 16

/** Result of a moment. */
export interface DisconnectResult {
  readonly moment: string
  readonly count: number
  /** Milliseconds from the disconnect to the end of the upstream connection, for those that ended. */
  readonly closedMs: readonly number[]
  readonly complaints: readonly string[]
}

/**
 * Disconnects one client.
 *
 * @param open receives the upstream calls that were not closed
 * @param hangUp disconnects
 * @returns milliseconds until the upstream's connection was closed, or the defect
 */
export async function disconnectOne(
  { target, upstream }: Pick<CheckContext, 'target' | 'upstream'>,
  moment: Moment,
  pair: Pair,
  open: UpstreamCall[],
  hangUp: (outgoing: ClientRequest) => void = (outgoing) => outgoing.destroy(),
): Promise<number | string> {
  const scene = upstream.play(moment.play)
  const outgoing = send(target, { ...pair, text: scene.marker, stream: moment.stream })
  try {
    const ripe = moment.ripe(outgoing, scene).then(() => true)
    if ((await resultWithin(10_000, ripe)) === undefined) return 'no data within 10 s'
    const call = await scene.arrived()
    const left = performance.now()
    hangUp(outgoing)
    const closed = await resultWithin(patienceMs, call.closed)
    if (closed !== undefined) return Math.max(0, closed - left)
    open.push(call)
    return `not closed within ${patienceMs} ms`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    outgoing.destroy()
    scene.end()
  }
}

async function leaveAt(
  setting: CheckContext,
  moment: Moment,
  count: number,
  open: UpstreamCall[],
): Promise<DisconnectResult> {
  const { pairs } = setting.target
  const closedMs: number[] = []
  const complaints: string[] = []
  let done = 0
  while (done < count && !(done >= enough && closedMs.length === 0)) {
    const batch = Array.from({ length: Math.min(enough, count - done) }, (_, at) => pairs[(done + at) % pairs.length])
    const results = await inParallel(batch as readonly Pair[], width, (pair) =>
      disconnectOne(setting, moment, pair, open),
    )
    for (const [at, result] of results.entries())
      if (typeof result === 'number') closedMs.push(result)
      else complaints.push(`${moment.name}, ${batch[at]?.client} from ${batch[at]?.upstream}: ${result}`)
    done += batch.length
  }
  return { moment: moment.name, count: done, closedMs, complaints }
}

interface Leaving {
  /** Resources before the disconnects. */
  readonly before: Baseline
  readonly moments: readonly DisconnectResult[]
  /** Upstream calls that were not aborted; they can be ended once they have been counted. */
  readonly open: readonly UpstreamCall[]
}

const known = new WeakMap<Target, Promise<Leaving>>()

/** Disconnects clients at every moment, spread over all pairs. */
export function disconnectAll(setting: CheckContext): Promise<Leaving> {
  const earlier = known.get(setting.target)
  const leaving = (async () => {
    // Earlier leaks must not count as the baseline.
    const before = (await earlier)?.before ?? (await baselineOf(setting))
    const lefts: DisconnectResult[] = []
    const open: UpstreamCall[] = []
    for (const moment of moments) lefts.push(await leaveAt(setting, moment, setting.count(1000, 48), open))
    return { before, moments: lefts, open }
  })()
  known.set(setting.target, leaving)
  return leaving
}

/** Returns the shared result of the disconnects, for checks of their effects. */
export const disconnectResults = (setting: CheckContext): Promise<Leaving> =>
  known.get(setting.target) ?? disconnectAll(setting)
