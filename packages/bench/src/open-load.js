// Generates load at a given rate: requests start on time, independent of other responses, each on a free socket.
// Measures the first event of each response.
import net from 'node:net'
import { serveJobs } from './process.js'
import { answerReader, requestBytes } from './raw-http.js'
import { percentiles } from './table.js'

/** @typedef {{ port: number, path: string, headers: { [name: string]: string }, body: string, rate: number, seconds: number }} Job */

const mark = Buffer.from('data: ')

/**
 * @param {Job} job @returns {Promise<{ answers: number, seconds: number, p50: number, p99: number }>} milliseconds from
 * a request to its first event
 */
async function run({ port, path, headers, body, rate, seconds }) {
  const request = requestBytes({ path, headers, body })
  /** @type {number[]} */
  const times = []
  /** @type {(() => void)[]} */
  const free = []
  /** @type {Set<net.Socket>} */
  const sockets = new Set()
  /** @type {unknown} */
  let failure
  let underWay = 0

  const openLane = () => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    sockets.add(socket)
    const reader = answerReader()
    let sentAt = 0
    let waits = false
    const send = () => {
      waits = true
      underWay++
      sentAt = performance.now()
      socket.write(request)
    }
    socket.on('connect', send)
    socket.on('error', (error) => {
      failure ??= error
    })
    socket.on('data', (data) => {
      if (waits && data.includes(mark)) {
        waits = false
        times.push(performance.now() - sentAt)
      }
      try {
        if (!reader(data)) return
      } catch (error) {
        failure ??= error
        socket.destroy()
        return
      }
      underWay--
      free.push(send)
    })
  }

  const started = performance.now()
  let sent = 0
  while (performance.now() - started < seconds * 1000 && failure === undefined) {
    const due = ((performance.now() - started) / 1000) * rate
    for (; sent < due; sent++) (free.pop() ?? openLane)()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  for (let tries = 0; underWay > 0 && tries < 200 && failure === undefined; tries++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  for (const socket of sockets) socket.destroy()
  if (failure !== undefined) throw failure
  return { answers: times.length, seconds, ...percentiles(times) }
}

serveJobs((job) => run(/** @type {Job} */ (job)))
