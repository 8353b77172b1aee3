import { WebSocket } from 'ws'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import type { Check, Target } from '../check.ts'
import { holdsWithin, mb, tally } from '../measurements.ts'
import { growth, memoryOf } from '../process-memory.ts'

/** Limit for 2,000 connections; fewer in the short form may hold proportionally less. */
const mostHeap = 64_000_000
const mostConnections = 2000
/** Compiled code and buffers of the process, which weigh more in the short form. */
const spareHeap = 4_000_000
const opensAtOnce = 50
const patienceMs = 30_000

/** Heap after a collection, or resident memory if that is all that is known. */
async function heapOf(target: Target): Promise<number | undefined> {
  const { heap, rss } = await memoryOf(target)
  return heap ?? rss
}

const open = (target: Target, pair: Target['pairs'][number]): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const url = `${target.origin.replace('http', 'ws')}/v1/responses`
    const socket = new WebSocket(url, { headers: { ...target.headers(pair) }, perMessageDeflate: false })
    socket.once('open', () => resolve(socket))
    socket.once('error', reject)
  })

/** Sends one request. Resolves to the type of its last event. */
const askOn = (socket: WebSocket, model: string, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error('the connection closed'))
    const read = (data: Buffer): void => {
      const { type } = JSON.parse(data.toString()) as { type: string }
      if (type !== 'error' && type !== 'response.completed') return
      socket.off('message', read).off('close', fail)
      resolve(type)
    }
    socket.on('message', read).once('close', fail)
    socket.send(JSON.stringify({ type: 'response.create', model, store: false, input: text }))
  })

/** Memory that idle WebSockets of `/v1/responses` hold, each after a response whose conversation it keeps. */
export const idleWebSockets: Check = {
  row: 52,
  group: 'Memory',
  title: '2,000 idle WebSockets of /v1/responses, each after one response',
  promise: '≤ 64 MB more heap after GC; every request on them works; nothing left over when they close',
  perServer: true,
  async run({ target: shared, upstream, count, fresh }) {
    const target = (await fresh({})) ?? shared
    const pairs = target.pairs.filter(({ client }) => client === 'responses')
    if (pairs.length === 0) return { skipped: 'it does not serve responses' }
    const scene = upstream.play(sendGoodResponse)
    const total = count(mostConnections, 300)
    const sockets: WebSocket[] = []
    const complaints: string[] = []
    const pairOf = (index: number) => pairs[index % pairs.length] as (typeof pairs)[number]
    /** Runs a task for each connection, a few at a time. */
    const each = async (run: (index: number) => Promise<void>): Promise<void> => {
      for (let at = 0; at < total; at += opensAtOnce)
        await Promise.all(
          Array.from({ length: Math.min(opensAtOnce, total - at) }, (_, index) =>
            run(at + index).catch((error: unknown) => void complaints.push(String(error))),
          ),
        )
    }
    const ask = async (index: number): Promise<void> => {
      const socket = sockets[index]
      if (socket === undefined) return
      const type = await askOn(socket, target.model(pairOf(index).upstream), scene.marker)
      if (type !== 'response.completed') complaints.push(`a request ended with ${type}`)
    }
    try {
      // The code of each pair is loaded and compiled before the first measurement.
      for (let index = 0; index < pairs.length * 5; index++) {
        const socket = await open(target, pairOf(index))
        await askOn(socket, target.model(pairOf(index).upstream), scene.marker)
        socket.close()
      }
      const before = await heapOf(target)
      const openFiles = (await target.local?.stats())?.fds
      await each(async (index) => {
        sockets[index] = await open(target, pairOf(index))
      })
      const idle = growth(before, await heapOf(target))
      await each(ask)
      upstream.closeIdle()
      const used = growth(before, await heapOf(target))
      await each(ask)
      for (const socket of sockets) socket.close()
      const isClosed = await holdsWithin(async () => {
        upstream.closeIdle()
        const now = (await target.local?.stats())?.fds
        return now === undefined || openFiles === undefined || now <= openFiles
      }, patienceMs)
      if (!isClosed) complaints.push('connections are left open')
      const left = growth(before, await heapOf(target))
      const most = (mostHeap * total) / mostConnections + spareHeap
      const isSmall = (bytes: number | undefined): boolean => bytes === undefined || bytes <= most
      const shown = (bytes: number | undefined): string => (bytes === undefined ? 'not known' : mb(bytes))
      return {
        held: complaints.length === 0 && isSmall(idle) && isSmall(used),
        figure: `${total} connections: heap ${shown(idle)} more when open, ${shown(used)} after a response each, ${shown(left)} when closed`,
        notes: tally(complaints),
      }
    } finally {
      for (const socket of sockets) socket?.terminate()
      scene.end()
    }
  },
}
