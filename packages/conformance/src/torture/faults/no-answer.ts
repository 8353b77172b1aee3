import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { statusIn } from '../../base/client-formats.ts'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { beginStream } from '../../base/upstream-responses.ts'
import { type Check, type CheckContext, type PairVariant, type Target, variantName, variantsOf } from '../check.ts'
import { exchange, type HttpResponse, type TargetRequest } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'
import { inTime, limitMs, patienceMs, stillWaiting, timeOthers, whenEnded } from './time-limits.ts'

/** Scripts that never respond; `streams`: for streams only. */
const silences: Readonly<Record<string, { readonly streams?: true; play(call: UpstreamCall): void }>> = {
  'no response': { play() {} },
  'a head without an event': { streams: true, play: beginStream },
  'comments without an event': {
    streams: true,
    play(call) {
      beginStream(call)
      const timer = setInterval(() => call.response.write(': still here\n\n'), 50)
      void call.closed.then(() => clearInterval(timer))
    },
  },
}

/** Starts a server that accepts connections but never answers the TLS handshake. */
async function startMute(): Promise<{ baseURL: string; close(): void }> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => void sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseURL: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

interface Case {
  readonly what: string
  readonly way: PairVariant
  ask(target: Target): Promise<HttpResponse>
}

function casesOf({ target, upstream }: CheckContext, rounds: number): Case[] {
  const once = Object.entries(silences).flatMap(([name, { streams, play }]) =>
    variantsOf(target)
      .filter(({ stream }) => stream || streams !== true)
      .map(
        (way): Case => ({
          what: name,
          way,
          async ask(gateway) {
            const scene = upstream.play(play)
            const answer = await exchange(
              gateway,
              { ...way, text: scene.marker },
              { withinMs: target.local === undefined ? patienceMs : limitMs * 8 },
            )
            scene.end()
            return answer
          },
        }),
      ),
  )
  return Array.from({ length: rounds }, () => once).flat()
}

/** An upstream that accepts a call and sends nothing: no connection, no head or no first event. */
export const noAnswer: Check = {
  row: 11,
  group: 'Faults',
  title: 'Upstream never responds',
  promise: '504 in the dialect at the limit ±100 ms',
  async run(setting) {
    const mute = await startMute()
    try {
      const fresh = await setting.fresh({
        limits: { firstByteMs: limitMs },
        upstreams: { mute: { format: 'chat', baseURL: mute.baseURL } },
        models: { mute: { upstream: 'mute', limits: { connectMs: limitMs, firstByteMs: limitMs * 4 } } },
      })
      const target = fresh ?? setting.target
      const cases = casesOf(setting, setting.count(3, 1))
      if (fresh !== undefined)
        for (const client of formats)
          for (const stream of [false, true]) {
            const ask: TargetRequest = { client, upstream: 'chat', stream, model: 'mute', text: 'Hello' }
            cases.push({
              what: 'no connection',
              way: { client, upstream: 'chat', stream },
              ask: (gateway) => exchange(gateway, ask, { withinMs: limitMs * 8 }),
            })
          }
      // Lazy loading is not measured.
      if (fresh !== undefined) for (const way of variantsOf(target)) await exchange(target, { ...way, text: 'Hello' })
      const others = timeOthers(target)
      const answers = await inParallel(cases, 8, async (one) => ({ ...one, answer: await one.ask(target) }))
      const { text: meanwhile } = await others()
      const waiting = answers.filter(({ answer }) => answer.broken?.startsWith('no end within'))
      if (fresh === undefined && waiting.length > 0) return stillWaiting(target, waiting.length, answers.length)
      const complaints = answers.flatMap(({ what, way, answer }) => {
        const name = `${what}, ${variantName(way)}`
        if (answer.status !== statusIn(way.client, 504))
          return [`${name}: returned status ${answer.status || answer.broken}`]
        if (readError(way.client, answer) === undefined) return [`${name}: not in the dialect`]
        return []
      })
      const right = answers.length - complaints.length
      const times = answers.map(({ answer }) => answer.endMs)
      if (fresh === undefined)
        return {
          held: complaints.length === 0,
          figure: `${right}/${answers.length} returned 504 (the gateway's limit is unknown)`,
          notes: tally(complaints),
        }
      return {
        held: complaints.length === 0 && inTime(times) === times.length,
        late: complaints.length === 0,
        figure: `${right}/${answers.length} returned 504, ${inTime(times)}/${times.length} in time: ${whenEnded(times)}`,
        notes: [...tally(complaints), meanwhile],
      }
    } finally {
      mute.close()
    }
  },
}
