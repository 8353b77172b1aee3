// Generates load: sequential HTTP/1.1 requests on each of several raw sockets, counting complete responses. Any
// status other than 200 ends the run.
import net from 'node:net'
import { serveJobs } from './process.js'
import { answerReader, requestBytes } from './raw-http.js'
import { percentiles } from './table.js'

/** @typedef {{ port: number, path: string, headers: { [name: string]: string }, body: string, connections: number, seconds: number }} Job */
/** @typedef {{ answers: number, seconds: number, p50: number, p99: number }} Result */

/**
 * A connection that stays open between jobs: alternating sides in short slices would otherwise mostly measure new connections.
 * @typedef {{ run: (latencies: number[], isOver: () => boolean) => Promise<void>, close: () => void, isOpen: () => boolean }} Lane
 */

/** The lanes of the last targets, the last one at the end. @type {Map<string, Lane[]>} */
const open = new Map()
/** Two sides alternate. */
const maxTargets = 2

/** @param {Job} job @returns {Promise<Result>} */
async function run({ port, path, headers, body, connections, seconds }) {
  const request = requestBytes({ path, headers, body })
  const lanes = lanesOf(`${port} ${request.toString('latin1')}`, () => openLane(port, request), connections)
  /** @type {number[]} */
  const latencies = []
  let over = false
  const started = performance.now()
  const timer = setTimeout(() => {
    over = true
  }, seconds * 1000)
  await Promise.all(lanes.map((lane) => lane.run(latencies, () => over)))
  clearTimeout(timer)
  const took = (performance.now() - started) / 1000
  return { answers: latencies.length, seconds: took, ...percentiles(latencies) }
}

/** @param {string} key @param {() => Lane} openOne @param {number} count */
function lanesOf(key, openOne, count) {
  const lanes = (open.get(key) ?? []).filter((lane) => lane.isOpen()).slice(0, count)
  while (lanes.length < count) lanes.push(openOne())
  open.delete(key)
  open.set(key, lanes)
  for (const [oldest, some] of open) {
    if (open.size <= maxTargets) break
    for (const lane of some) lane.close()
    open.delete(oldest)
  }
  return lanes
}

/** @param {number} port @param {Buffer} request @returns {Lane} */
function openLane(port, request) {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  const reader = answerReader()
  const connected = new Promise((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  let isOpen = true
  let onAnswer = () => {}
  let onFailure = (/** @type {unknown} */ _error) => {}
  socket.on('data', (data) => {
    try {
      if (reader(data)) onAnswer()
    } catch (error) {
      onFailure(error)
      socket.destroy()
    }
  })
  socket.on('error', (error) => onFailure(error))
  socket.on('close', () => {
    isOpen = false
    onFailure(new Error('the proxy closed a connection'))
  })
  return {
    isOpen: () => isOpen,
    close: () => socket.destroy(),
    async run(latencies, isOver) {
      await connected
      await new Promise((resolve, reject) => {
        let sentAt = performance.now()
        onFailure = reject
        onAnswer = () => {
          latencies.push(performance.now() - sentAt)
          if (isOver()) return resolve(undefined)
          sentAt = performance.now()
          socket.write(request)
        }
        socket.write(request)
      })
      onFailure = () => {}
    },
  }
}

serveJobs((job) => run(/** @type {Job} */ (job)))
