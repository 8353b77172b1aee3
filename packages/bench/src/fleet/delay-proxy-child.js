// A TCP proxy between gateways and Redis, in a process of its own. It delays all bytes by half a round trip in each direction. Half of
// the gateways connect to its second port, which it can cut off: then it holds all bytes back until the partition ends, as TCP does.
import { connect, createServer } from 'node:net'
import { serveJobs } from '../process.js'

/** @typedef {{ target?: number, roundTripMs?: number, isCutOff?: boolean }} Job */

let target = 0
let oneWayMs = 0
/** @typedef {{ isCutOff: boolean, held: (() => void)[] }} Side */
/** @type {readonly Side[]} */
const sides = [
  { isCutOff: false, held: [] },
  { isCutOff: false, held: [] },
]

/** @type {{ at: number, side: Side, run: () => void }[]} */
let line = []
let isWaiting = false
const sleeper = new Int32Array(new SharedArrayBuffer(4))
/** Timers of Node have a resolution of 1 ms, so shorter times are slept in steps of this length. */
const napMs = 0.05

/** @param {Side} side @param {() => void} run */
function later(side, run) {
  line.push({ at: performance.now() + oneWayMs, side, run })
  if (isWaiting) return
  isWaiting = true
  setImmediate(deliver)
}

function deliver() {
  const now = performance.now()
  let count = 0
  for (const { at, side, run } of line) {
    if (at > now) break
    count++
    if (side.isCutOff) side.held.push(run)
    else run()
  }
  if (count > 0) line = line.slice(count)
  const next = line[0]
  if (next === undefined) {
    isWaiting = false
    return
  }
  const ms = next.at - performance.now()
  if (ms > 2.5) {
    setTimeout(deliver, ms - 1.5)
    return
  }
  if (ms > 0) Atomics.wait(sleeper, 0, 0, Math.min(ms, napMs))
  setImmediate(deliver)
}

/** @param {Side} side @param {import('node:net').Socket} from @param {import('node:net').Socket} to */
function forward(side, from, to) {
  from.setNoDelay()
  from.on('data', (chunk) => later(side, () => void to.write(chunk)))
  from.on('close', () => later(side, () => void to.destroy()))
  from.on('error', () => {})
}

/** @param {Side} side @returns {Promise<number>} */
const listen = (side) =>
  new Promise((resolve) => {
    const server = createServer((client) => {
      const redis = connect(target, '127.0.0.1')
      forward(side, client, redis)
      forward(side, redis, client)
    })
    server.listen(0, '127.0.0.1', 4096, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })

const ports = await Promise.all(sides.map(listen))
serveJobs(async (given) => {
  const job = /** @type {Job} */ (given)
  target = job.target ?? target
  if (job.roundTripMs !== undefined) oneWayMs = job.roundTripMs / 2
  const [, second] = sides
  if (job.isCutOff !== undefined && second !== undefined) {
    second.isCutOff = job.isCutOff
    if (!job.isCutOff) for (const run of second.held.splice(0)) run()
  }
  return { ports }
})
process.send?.({ ports })
