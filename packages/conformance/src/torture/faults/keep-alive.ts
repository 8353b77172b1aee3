import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { good } from '../../base/streams.ts'
import { beginStream, formatOf, sendJson, sleep, wholeResponse } from '../../base/upstream-responses.ts'
import { type Check, someVariantsOf, variantName } from '../check.ts'
import { exchange } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'

/** Milliseconds until the upstream closes an idle connection: about as long as the clients wait between calls. */
const idleMs = 10

/** Sends calls just when the upstream closes the idle connection. */
export const keepAliveRace: Check = {
  row: 16,
  group: 'Faults',
  title: 'Keep-alive race',
  promise: '0 failures of 2,000, 0 duplicates at the upstream',
  async run({ target, upstream, count }) {
    const total = count(2000, 400)
    let closed = 0
    const closeWhenIdle = ({ socket, response }: UpstreamCall): void => {
      response.once('finish', () => {
        const received = socket.bytesRead
        setTimeout(() => {
          // A request that has begun to arrive is served, as by any server.
          if (socket.bytesRead !== received || socket.destroyed) return
          closed++
          socket.destroy()
        }, idleMs)
      })
    }
    const seen: string[] = []
    const scene = upstream.play((call) => {
      seen.push(/call (\d+)\./.exec(call.body.toString('latin1'))?.[1] ?? '?')
      closeWhenIdle(call)
      // Written by hand without a keep-alive hint, which would make clients avoid the race.
      if (!call.stream) return sendJson(call, 200, wholeResponse[formatOf(call)], { connection: 'keep-alive' })
      call.response.setHeader('connection', 'keep-alive')
      beginStream(call)
      call.response.end(good[formatOf(call)].join(''))
    })
    const ways = someVariantsOf(target)
    const complaints: string[] = []
    await inParallel(Array.from({ length: total }), 20, async (_, place) => {
      const way = ways[place % ways.length]
      if (way === undefined) return
      const answer = await exchange(target, { ...way, text: `${scene.marker} call ${place}.` }, { withinMs: 10_000 })
      if (answer.status !== 200 || answer.broken !== undefined || !answer.text.includes('three'))
        complaints.push(`${variantName(way)}: ${answer.broken ?? `returned status ${answer.status}`}`)
      await sleep(idleMs - 2 + (place % 6))
    })
    scene.end()
    const twice = seen.length - new Set(seen).size
    return {
      held: complaints.length === 0 && twice === 0,
      figure: `${complaints.length} failures of ${total}, ${twice} duplicates at the upstream, which closed ${closed} idle connections`,
      notes: tally(complaints),
    }
  },
}
