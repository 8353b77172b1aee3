// Generates load of many concurrent streams: opens them evenly over a period, then measures the delay of events.
import net from 'node:net'
import { eachStamp, nowMicros } from './paced-events.js'
import { serveJobs } from './process.js'
import { requestBytes } from './raw-http.js'
import { percentiles } from './table.js'

/** @typedef {{ kind: 'open', port: number, path: string, headers: { [name: string]: string }, body: string, streams: number, rampMs: number }} OpenJob */
/** @typedef {OpenJob | { kind: 'watch', ms: number } | { kind: 'close' }} Job */

/** @type {Set<net.Socket>} */
const sockets = new Set()
/** Milliseconds from an event's sending to its arrival, during a measurement. @type {number[] | undefined} */
let lateness
/** @type {unknown} */
let failure

/** Below the backlog of a listening socket. */
const mostOpening = 200
const patienceMs = 30_000

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** @param {number} port @param {Buffer} request @param {() => void} onFirst */
function openStream(port, request, onFirst) {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  sockets.add(socket)
  let begun = false
  socket.on('connect', () => socket.write(request))
  socket.on('error', (error) => {
    failure ??= error
  })
  socket.on('close', () => {
    if (sockets.delete(socket)) failure ??= new Error('the proxy closed a stream')
  })
  socket.on('data', (data) => {
    if (!begun && !data.toString('latin1', 0, 12).endsWith(' 200')) failure ??= new Error(`not a 200: ${data}`)
    const now = lateness === undefined && begun ? 0 : nowMicros()
    if (now === 0) return
    eachStamp(data, (sentAt) => {
      lateness?.push((now - sentAt) / 1000)
      if (begun) return
      begun = true
      onFirst()
    })
  })
}

/** @param {OpenJob} job */
async function open({ port, path, headers, body, streams, rampMs }) {
  const request = requestBytes({ path, headers, body })
  let begun = 0
  const started = performance.now()
  let opened = 0
  while (begun < streams && failure === undefined) {
    const passed = performance.now() - started
    if (passed > rampMs + patienceMs) throw new Error(`only ${begun} of ${streams} streams started`)
    const due = Math.min(streams, Math.ceil((passed / rampMs) * streams), begun + mostOpening)
    for (; opened < due; opened++) openStream(port, request, () => begun++)
    await pause(1)
  }
  return { begun }
}

/** @param {number} ms */
async function watch(ms) {
  lateness = []
  await pause(ms)
  const seen = lateness
  lateness = undefined
  return { events: seen.length, ...percentiles(seen) }
}

async function close() {
  const all = [...sockets]
  sockets.clear()
  for (const socket of all) socket.destroy()
  return {}
}

serveJobs(async (message) => {
  const job = /** @type {Job} */ (message)
  const result = await (job.kind === 'open' ? open(job) : job.kind === 'watch' ? watch(job.ms) : close())
  if (failure !== undefined) throw failure
  return result
})
