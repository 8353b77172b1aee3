// Generates load: sequential HTTP/1.1 requests on each of several raw sockets, counting complete responses. Any
// status other than 200 ends the run.
import net from 'node:net'
import { serveJobs } from './process.js'
import { answerReader, requestBytes } from './raw-http.js'
import { percentiles } from './table.js'

/** @typedef {{ port: number, path: string, headers: { [name: string]: string }, body: string, connections: number, seconds: number }} Job */
/** @typedef {{ answers: number, seconds: number, p50: number, p99: number }} Result */

/** @param {Job} job @returns {Promise<Result>} */
async function run({ port, path, headers, body, connections, seconds }) {
  const request = requestBytes({ path, headers, body })
  /** @type {number[]} */
  const latencies = []
  let over = false
  const started = performance.now()
  const lanes = Array.from({ length: connections }, () => lane(port, request, latencies, () => over))
  const timer = setTimeout(() => {
    over = true
  }, seconds * 1000)
  await Promise.all(lanes)
  clearTimeout(timer)
  const took = (performance.now() - started) / 1000
  return { answers: latencies.length, seconds: took, ...percentiles(latencies) }
}

/**
 * @param {number} port @param {Buffer} request @param {number[]} latencies @param {() => boolean} isOver
 * @returns {Promise<void>}
 */
function lane(port, request, latencies, isOver) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    const reader = answerReader()
    let sentAt = 0
    const send = () => {
      sentAt = performance.now()
      socket.write(request)
    }
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the proxy closed a connection')))
    socket.on('data', (data) => {
      try {
        if (!reader(data)) return
      } catch (error) {
        reject(error)
        socket.destroy()
        return
      }
      latencies.push(performance.now() - sentAt)
      if (!isOver()) return send()
      resolve()
      socket.destroy()
    })
  })
}

serveJobs((job) => run(/** @type {Job} */ (job)))
