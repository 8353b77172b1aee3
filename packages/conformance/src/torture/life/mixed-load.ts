import { Agent, type IncomingMessage } from 'node:http'
import type { Play, Upstream } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import {
  beginStream,
  formatOf,
  resultWithin,
  sendGoodResponse,
  sleep,
  wholeResponse,
} from '../../base/upstream-responses.ts'
import type { Pair, Target } from '../check.ts'
import { exchange, send, type TargetRequest } from '../client.ts'
import { inParallel } from '../measurements.ts'
import { memoryOf } from '../process-memory.ts'
import { completenessDefect } from '../read-responses.ts'

export interface Mixed {
  readonly requests: number
  readonly aborted: number
  /** Bytes of heap that each request leaves behind: the slope of all readings. Undefined if unknown. */
  readonly heapPerRequest: number | undefined
  /** One standard error of the slope. */
  readonly give: number | undefined
  readonly complaints: readonly string[]
}

/** Marks prompts whose client disconnects early. */
const leaver = 'leaver'
const width = 16
/** Every fifth client disconnects. */
const leaves = (at: number): boolean => at % 5 === 4
/** Half of these disconnect before the response, at different moments. */
const latestMs = 12
const patienceMs = 5000

/** Sends good responses, or the beginning of one for clients that disconnect. */
const play: Play = (call) => {
  if (!call.body.includes(leaver)) return sendGoodResponse(call)
  const format = formatOf(call)
  if (call.stream) {
    beginStream(call)
    for (const event of good[format].slice(0, 3)) call.response.write(event)
  } else {
    call.response.writeHead(200, { 'content-type': 'application/json' })
    call.response.write(JSON.stringify(wholeResponse[format]).slice(0, 60))
  }
}

/** Disconnects at once or soon, or with the first bytes of the response. */
async function leave(target: Target, ask: TargetRequest, early: boolean): Promise<void> {
  const outgoing = send(target, ask)
  const gone = new Promise<void>((resolve) => outgoing.once('close', resolve))
  if (early) setTimeout(() => outgoing.destroy(), Math.random() * latestMs)
  else
    outgoing.once('response', (response: IncomingMessage) => {
      response.on('error', () => {})
      response.once('data', () => outgoing.destroy())
    })
  // An incomplete unstreamed response may never begin for the client.
  await resultWithin(ask.stream === true ? patienceMs : latestMs, gone)
  outgoing.destroy()
}

/** Sends this many requests over all pairs, streamed and unstreamed in turn. */
async function round(target: Target, upstream: Upstream, count: number, complaints: string[]): Promise<number> {
  const scene = upstream.play(play)
  const agent = new Agent({ keepAlive: true })
  let aborted = 0
  await inParallel(Array.from({ length: count }), width, async (_, at) => {
    const pair = target.pairs[Math.floor(at / 2) % target.pairs.length] as Pair
    const stream = at % 2 === 0
    // Stored responses are kept while there is room, which is not a leak.
    const more = pair.client === 'responses' ? { store: false } : {}
    if (leaves(at)) {
      aborted++
      return leave(target, { ...pair, stream, more, text: `${scene.marker} ${leaver}` }, at % 3 === 0)
    }
    const ask = { ...pair, stream, more, text: scene.marker }
    const wrong = completenessDefect(ask, await exchange(target, ask, { agent }))
    if (wrong !== undefined) complaints.push(`${pair.client} from ${pair.upstream}: ${wrong}`)
  })
  agent.destroy()
  // Upstream calls of disconnected clients must end before the count.
  await resultWithin(
    patienceMs,
    Promise.all(scene.calls.map((call) => (call.response.closed ? undefined : call.closed))),
  )
  for (const call of scene.calls) if (!call.response.closed) call.socket.destroy()
  scene.end()
  return aborted
}

interface Reading {
  readonly at: number
  readonly bytes: number
}

/** Returns the least-squares line through the readings and its standard error. */
function slopeOf(readings: readonly Reading[]): { slope: number; error: number } {
  const n = readings.length
  const meanAt = readings.reduce((sum, { at }) => sum + at, 0) / n
  const mean = readings.reduce((sum, { bytes }) => sum + bytes, 0) / n
  const spread = readings.reduce((sum, { at }) => sum + (at - meanAt) ** 2, 0)
  const slope = readings.reduce((sum, { at, bytes }) => sum + (at - meanAt) * (bytes - mean), 0) / spread
  const rest = readings.reduce((sum, { at, bytes }) => sum + (bytes - mean - slope * (at - meanAt)) ** 2, 0)
  return { slope, error: Math.sqrt(rest / Math.max(1, n - 2) / spread) }
}

/** Serves requests until all code is loaded and compiled. */
export const warmUp = async (target: Target, upstream: Upstream, count: number): Promise<void> => {
  await round(target, upstream, count, [])
}

/** Sends requests in rounds, and reads the heap after a garbage collection following each. */
export async function mixed(target: Target, upstream: Upstream, count: number, rounds: number): Promise<Mixed> {
  const complaints: string[] = []
  const readings: Reading[] = []
  const each = Math.round(count / rounds)
  let aborted = 0
  const read = async (at: number): Promise<void> => {
    // Removes this kit's own records from the gateway's process.
    await target.local?.finished()
    await sleep(100)
    const { heap } = await memoryOf(target)
    if (heap !== undefined) readings.push({ at, bytes: heap })
  }
  await read(0)
  for (let done = 1; done <= rounds; done++) {
    aborted += await round(target, upstream, each, complaints)
    await read(done * each)
  }
  const { slope, error } = readings.length === 0 ? { slope: undefined, error: undefined } : slopeOf(readings)
  return { requests: each * rounds, aborted, heapPerRequest: slope, give: error, complaints }
}
