import type { IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { listenRealtime } from '@modelgate/testing'
import { WebSocket } from 'ws'
import { upstreamKey } from '../../base/gateways.ts'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, resultWithin, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import type { Check, CheckContext, Finished, LocalGateway, Pair, Target } from '../check.ts'
import { bodyFor, rawRequest } from '../client.ts'
import { holdsWithin, mb, ms, tally } from '../measurements.ts'
import { growth, memoryOf } from '../process-memory.ts'

type Gateway = Target & { readonly local: LocalGateway }

/** Shortened limits. Only one of them can be reached in each group. */
const limitMs = 1000
const farMs = 600_000
/** Latest effect of the limit: clients are checked at intervals, and the machine is busy. */
const lateMs = 2500
/** More than the usual buffers between an upstream and its client; some systems buffer even this. */
const pouredBytes = 30_000_000
const writeBytes = 64_000
/** Allowed growth after all clients are gone, for lazily loaded code. One leaked response is larger. */
const leftBytes = 10_000_000

/** Expected end of a call whose client does not read. */
const stalled = { outcome: 'aborted', error: 'client_stalled' }
const timedOut = { outcome: 'failed', error: 'upstream_total_timeout' }

interface Way {
  readonly name: string
  readonly limits: { readonly clientStallMs: number; readonly totalMs: number }
  /** Uses a realtime upstream. */
  readonly live?: true
  /** Expected end of each call; undefined if the call is complete and only its connection must end. */
  readonly ends: Pick<Finished, 'outcome' | 'error'> | undefined
  /** Opens a connection that does not read. */
  open(gateway: Gateway, place: Place): Promise<{ close(): void; isCut(): Promise<boolean> }>
}

/** Scripts of the upstream. */
interface Place {
  readonly pair: Pair
  readonly marker: string
  /** Unique per kind of response, to identify its calls. */
  readonly model: string
}

const byStall = { clientStallMs: limitMs, totalMs: farMs }
const byTotal = { clientStallMs: farMs, totalMs: limitMs }

/** Sends a raw request, reads until `readsUntil` returns true, and then stops reading. */
async function stop(gateway: Gateway, request: string, readsUntil: (got: string) => boolean) {
  const { hostname, port } = new URL(gateway.origin)
  const socket: Socket = connect({ host: hostname, port: Number(port) })
  let got = ''
  let received = 0
  let isClosed = false
  socket.on('error', () => {})
  socket.once('close', () => {
    isClosed = true
  })
  socket.on('data', (part: Buffer) => {
    received += part.length
    if (socket.isPaused()) return
    got += part.toString('latin1')
    if (readsUntil(got)) socket.pause()
  })
  socket.write(request)
  if (!(await holdsWithin(() => socket.isPaused(), 10_000)))
    throw new Error(`the response ended too early: ${got.slice(0, 200)}`)
  return {
    close: () => void socket.destroy(),
    // Reads the data that the system has buffered. The connection must end before the whole response.
    async isCut() {
      socket.removeAllListeners('data').on('data', (part: Buffer) => {
        received += part.length
      })
      socket.resume()
      return (await holdsWithin(() => isClosed, lateMs)) && received < pouredBytes
    },
  }
}

const streamed = (gateway: Gateway, { pair, marker, model }: Place): string => {
  const ask = { ...pair, text: marker, stream: true, model }
  const body = bodyFor(gateway, ask)
  return rawRequest(gateway, ask, { 'content-length': String(Buffer.byteLength(body)) }) + body
}

const json = (gateway: Gateway, { pair, marker, model }: Place): string => {
  const ask = { ...pair, text: marker, model }
  const body = bodyFor(gateway, ask)
  return rawRequest(gateway, ask, { 'content-length': String(Buffer.byteLength(body)) }) + body
}

function speech(gateway: Gateway, { pair, marker, model }: Place): string {
  const body = JSON.stringify({ model, input: marker, voice: 'alloy' })
  const headers = {
    ...gateway.headers(pair),
    'content-type': 'application/json',
    'content-length': String(body.length),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /v1/audio/speech HTTP/1.1\r\nhost: x\r\n${lines.join('')}\r\n${body}`
}

/** Opens a session whose client keeps sending, so that it is not idle, but does not read. */
async function session(gateway: Gateway, { pair, model }: Place) {
  const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/realtime?model=${model}`, {
    headers: gateway.headers(pair),
  })
  socket.on('error', () => {})
  let isClosed = false
  socket.once('close', () => {
    isClosed = true
  })
  await new Promise<void>((resolve, reject) => socket.once('open', () => resolve()).once('error', reject))
  socket.pause()
  const sending = setInterval(() => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'still.here' }))
  }, 100)
  return {
    close() {
      clearInterval(sending)
      socket.terminate()
    },
    async isCut() {
      clearInterval(sending)
      socket.resume()
      return holdsWithin(() => isClosed, lateMs)
    },
  }
}

const headIn = (got: string): boolean => got.includes('\r\n\r\n')
const eventIn = (got: string): boolean => got.includes('data:')
const bodyIn = (got: string): boolean => got.length > 100_000

const ways: readonly Way[] = [
  {
    name: 'a stream, after its head',
    limits: byStall,
    ends: stalled,
    open: (g, p) => stop(g, streamed(g, p), headIn),
  },
  { name: 'a stream, mid-way', limits: byStall, ends: stalled, open: (g, p) => stop(g, streamed(g, p), bodyIn) },
  { name: 'a stream, by totalMs', limits: byTotal, ends: timedOut, open: (g, p) => stop(g, streamed(g, p), eventIn) },
  { name: 'JSON, within the body', limits: byStall, ends: undefined, open: (g, p) => stop(g, json(g, p), bodyIn) },
  { name: 'speech', limits: byStall, ends: stalled, open: (g, p) => stop(g, speech(g, p), bodyIn) },
  { name: 'speech, by totalMs', limits: byTotal, ends: timedOut, open: (g, p) => stop(g, speech(g, p), bodyIn) },
  { name: 'a realtime session', limits: byStall, live: true, ends: stalled, open: session },
]

/** Writes everything, with backpressure. */
async function pour({ response }: UpstreamCall, piece: string | Buffer): Promise<void> {
  for (let left = pouredBytes; left > 0 && !response.destroyed; left -= piece.length)
    if (!response.write(piece))
      await new Promise<void>((resume) => {
        const go = (): void => {
          response.off('drain', go).off('close', go)
          resume()
        }
        response.on('drain', go).on('close', go)
      })
  response.end()
}

async function play(call: UpstreamCall): Promise<void> {
  const format = formatOf(call)
  if (call.stream) {
    beginStream(call)
    call.response.write(good[format][0])
    const event = String(good[format][1])
    return pour(call, event.repeat(Math.ceil(writeBytes / event.length)))
  }
  // One JSON string that makes up most of the response.
  const [before = '', after = ''] = JSON.stringify(wholeResponse[format]).split('one two three')
  call.response.writeHead(200, { 'content-type': 'application/json' })
  call.response.write(before)
  call.response.write('x'.repeat(pouredBytes))
  call.response.end(after)
}

/** Result of one group of clients. */
interface Held {
  readonly way: string
  readonly count: number
  readonly complaints: readonly string[]
}

/** All kinds of responses under the same limits, in one gateway. */
interface Group {
  readonly all: readonly Held[]
  /** Milliseconds from the last received byte until all calls were settled. */
  readonly settledMs: number
  readonly grown: number | undefined
}

async function askGroup(setting: CheckContext, limits: Way['limits'], count: number): Promise<Group> {
  const fake = await listenRealtime({ mute: true })
  const mine = ways.filter((way) => way.limits === limits)
  const gateway = await setting.fresh({
    limits: { ...limits, answerBytes: 2 * pouredBytes },
    upstreams: { live: { format: 'chat', baseURL: fake.url.replace(/\/v1$/, ''), apiKey: upstreamKey } },
    models: Object.fromEntries(mine.map(({ live }, n) => [`way-${n}`, live === true ? 'live' : 'chat'])),
  })
  if (gateway === undefined) throw new Error('this gateway cannot be configured')
  const scene = setting.upstream.play(play)
  const speeches: UpstreamCall[] = []
  const endSpeech = setting.upstream.playAt('/v1/audio/speech', async (call, incoming: IncomingMessage) => {
    incoming.resume()
    speeches.push(call)
    call.response.writeHead(200, { 'content-type': 'audio/mpeg' })
    await pour(call, Buffer.alloc(writeBytes, 1))
  })
  const clients: { readonly way: Way; readonly client: Awaited<ReturnType<Way['open']>> }[] = []
  try {
    const before = await memoryOf(gateway)
    const pair = { client: 'chat', upstream: 'chat' } as const
    for (const [n, way] of mine.entries()) {
      const place = { pair, marker: scene.marker, model: `way-${n}` }
      for (let at = 0; at < count; at++) clients.push({ way, client: await way.open(gateway, place) })
    }
    fillSessions(fake)
    const begun = performance.now()
    const finished: Finished[] = []
    const settled = await holdsWithin(async () => {
      finished.push(...(await gateway.local.finished()))
      return finished.length >= clients.length
    }, limitMs + lateMs)
    const settledMs = performance.now() - begun
    // The connection of a complete upstream response is reused: an unstreamed one, or one that the system has buffered.
    const streams = [...scene.calls.filter((call) => call.stream), ...speeches]
    const incomplete = streams.filter((call) => !call.response.writableFinished)
    const closed = await resultWithin(lateMs, Promise.all(incomplete.map((call) => call.closed)))
    const left = await holdsWithin(() => fake.sessions.every((session) => session.closed !== undefined), lateMs)
    await sleep(Math.max(0, begun + limitMs + lateMs / 2 - performance.now()))
    const cut = await Promise.all(clients.map(({ client }) => client.isCut()))
    const all = mine.map((way, n): Held => {
      const complaints: string[] = []
      const ends = finished.filter(({ model }) => model === `way-${n}`)
      if (ends.length < count) complaints.push(`${ends.length} of ${count} were settled`)
      for (const { outcome, error } of ends)
        if (way.ends !== undefined && (outcome !== way.ends.outcome || error !== way.ends.error))
          complaints.push(`settled as ${outcome} (${error})`)
      const uncut = clients.filter((one, at) => one.way === way && cut[at] === false).length
      // A stream ended by totalMs ends with an error for a client that resumes reading.
      if (uncut > 0 && (limits === byStall || !way.name.includes('stream')))
        complaints.push(`${uncut} of ${count} connections were not cut`)
      return { way: way.name, count, complaints }
    })
    const common: string[] = []
    if (!settled) common.push(`${clients.length - finished.length} calls were not settled`)
    if (closed === undefined) common.push('an upstream was not closed')
    if (!left) common.push('an upstream session was not closed')
    for (const { client } of clients) client.close()
    await sleep(100)
    const after = await memoryOf(gateway)
    const heap = growth(before.heap, after.heap)
    const buffers = growth(before.buffers, after.buffers)
    const grown = heap === undefined || buffers === undefined ? undefined : heap + buffers
    if (grown !== undefined && grown > leftBytes) common.push(`${mb(grown)} of memory remained`)
    return { all: [...all, { way: 'all together', count: 1, complaints: common }], settledMs, grown }
  } finally {
    for (const { client } of clients) client.close()
    for (const call of [...scene.calls, ...speeches]) call.socket.destroy()
    endSpeech()
    scene.end()
    await fake.close()
    await gateway.stop()
  }
}

/** Sends more messages to each session than its buffers hold. */
function fillSessions({ sessions }: Awaited<ReturnType<typeof listenRealtime>>): void {
  const text = 'x'.repeat(500_000)
  for (const session of sessions) for (let n = 0; n < 40; n++) void session.send({ type: 'note', text }).catch(() => {})
}

export const stalledReader: Check = {
  row: 48,
  group: 'Clients',
  title: 'stalled reader',
  promise:
    'A client that does not read its response holds resources no longer than totalMs and clientStallMs: the call is settled, upstream call and connection are closed, the memory is released',
  perServer: true,
  async run(setting) {
    if (setting.target.local === undefined) return { skipped: 'its limits cannot be set from outside' }
    const groups: Group[] = []
    for (const limits of [byStall, byTotal]) groups.push(await askGroup(setting, limits, setting.count(20, 2)))
    const all = groups.flatMap((group) => group.all)
    const total = all.reduce((sum, { count }) => sum + count, 0)
    const held = all.reduce((sum, { count, complaints }) => sum + (complaints.length === 0 ? count : 0), 0)
    const grown = Math.max(0, ...groups.map((group) => group.grown ?? 0))
    return {
      held: held === total,
      // Each complaint means that something had not ended in time.
      late: true,
      figure: `${held}/${total} ended in time (${ways.length} kinds of response, limit ${ms(limitMs)}), all calls settled after ${ms(Math.max(...groups.map(({ settledMs }) => settledMs)))}; ${mb(grown)} of memory remained`,
      notes: tally(all.flatMap(({ way, complaints }) => complaints.map((complaint) => `${way}: ${complaint}`))),
    }
  },
}
