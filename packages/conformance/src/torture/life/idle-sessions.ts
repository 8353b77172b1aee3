import { connect, type Socket } from 'node:net'
import type { Play, Upstream, UpstreamCall } from '../../base/raw-upstream.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sleep } from '../../base/upstream-responses.ts'
import type { Pair, Target } from '../check.ts'
import { bodyFor, rawRequest, type TargetRequest } from '../client.ts'
import { holdsWithin } from '../measurements.ts'
import { growth, memoryOf } from '../process-memory.ts'

export interface StalledReaders {
  /** Per stream: heap, heap and buffers together, resident memory. Undefined if unknown. */
  readonly heapEach: number | undefined
  readonly withBuffersEach: number | undefined
  readonly rssEach: number | undefined
  /** Bytes that the upstream could send. */
  readonly sentBytes: number
  readonly offeredBytes: number
  readonly complaints: readonly string[]
}

/** Size of each stream. */
const streamBytes = 500_000_000
const writeBytes = 64_000

/** Returns events of one word each, as models write them, as many as are written at once. */
function words(format: Format): string {
  const event = String(good[format][1])
  return event.repeat(Math.ceil(writeBytes / event.length))
}

/** Sends up to half a gigabyte with backpressure. */
const pouring =
  (reported: (bytes: number) => void): Play =>
  async (call: UpstreamCall) => {
    const format = formatOf(call)
    const some = words(format)
    const { response } = call
    beginStream(call)
    response.write(String(good[format][0]))
    for (let left = streamBytes; left > 0 && !response.destroyed; left -= some.length) {
      const isWritable = response.write(some)
      reported(some.length)
      if (!isWritable)
        await new Promise<void>((resume) => {
          const go = (): void => {
            response.off('drain', go).off('close', go)
            resume()
          }
          response.on('drain', go).on('close', go)
        })
    }
  }

/** Requests a stream and reads nothing of it. */
function fallAsleep(target: Target, ask: TargetRequest): Socket {
  const { hostname, port } = new URL(target.origin)
  const body = bodyFor(target, ask)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  socket.pause()
  socket.write(rawRequest(target, ask, { 'content-length': String(Buffer.byteLength(body)) }) + body)
  return socket
}

const stillMs = 1000
const patienceMs = 60_000

/** Runs this many clients that request a stream and do not read it, and measures what the gateway keeps for them. */
export async function runStalledReaders(target: Target, upstream: Upstream, count: number): Promise<StalledReaders> {
  const complaints: string[] = []
  let sent = 0
  const scene = upstream.play(
    pouring((bytes) => {
      sent += bytes
    }),
  )
  const sockets: Socket[] = []
  /** True when the upstream cannot send any more. */
  const isStill = async (): Promise<boolean> => {
    const before = sent
    await sleep(stillMs)
    return sent === before
  }
  try {
    const before = await memoryOf(target)
    for (let n = 0; n < count; n++) {
      const pair = target.pairs[n % target.pairs.length] as Pair
      sockets.push(fallAsleep(target, { ...pair, text: scene.marker, stream: true }))
    }
    await scene.arrived(count)
    if (!(await holdsWithin(isStill, patienceMs)) || sent >= count * streamBytes)
      complaints.push(`it kept reading from the upstream: ${Math.round(sent / 1_000_000)} MB`)
    const now = await memoryOf(target)
    const heap = growth(before.heap, now.heap)
    const buffers = growth(before.buffers, now.buffers)
    const rss = growth(before.rss, now.rss)
    const asleep = sent
    sockets[0]?.resume()
    if (!(await holdsWithin(() => sent > asleep, 5000)))
      complaints.push('a client that resumed reading received nothing more')
    return {
      heapEach: heap === undefined ? undefined : heap / count,
      withBuffersEach: heap === undefined || buffers === undefined ? undefined : (heap + buffers) / count,
      rssEach: rss === undefined ? undefined : rss / count,
      sentBytes: asleep,
      offeredBytes: count * streamBytes,
      complaints,
    }
  } finally {
    for (const socket of sockets) socket.destroy()
    const ends = scene.calls.map((call) => call.closed)
    await Promise.race([Promise.all(ends), sleep(5000)])
    for (const call of scene.calls) call.socket.destroy()
    scene.end()
  }
}
