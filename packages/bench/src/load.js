// The load: one HTTP/1.1 request after the other on each of a number of raw sockets, and a count of whole answers.
// Any answer that is not a 200 ends the run.
import net from 'node:net'

/** @typedef {{ port: number, path: string, headers: { [name: string]: string }, body: string, connections: number, seconds: number }} Job */
/** @typedef {{ answers: number, seconds: number, p50: number, p99: number }} Result */

/** @param {Job} job @returns {Promise<Result>} */
async function run({ port, path, headers, body, connections, seconds }) {
  const head = Object.entries({ host: 'bench', 'content-type': 'application/json', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const request = Buffer.from(
    `POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
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
  latencies.sort((a, b) => a - b)
  const at = (/** @type {number} */ share) => latencies[Math.floor(latencies.length * share)] ?? 0
  return { answers: latencies.length, seconds: took, p50: at(0.5), p99: at(0.99) }
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

const chunkedEnd = Buffer.from('0\r\n\r\n')

/** @returns {(data: Buffer) => boolean} true when an answer is whole */
function answerReader() {
  let left = -1
  /** @type {Buffer} */
  let tail = Buffer.alloc(0)
  /** @type {Buffer | undefined} */
  let held
  return (data) => {
    if (left > 0) {
      left -= data.length
      if (left > 0) return false
      left = -1
      return true
    }
    if (left === -1) {
      const chunk = held === undefined ? data : Buffer.concat([held, data])
      const end = chunk.indexOf('\r\n\r\n')
      if (end < 0) {
        held = chunk
        return false
      }
      held = undefined
      const head = chunk.toString('latin1', 0, end)
      if (!head.startsWith('HTTP/1.1 200')) throw new Error(`not a 200: ${chunk.toString().slice(0, 600)}`)
      const length = /content-length: *(\d+)/i.exec(head)
      if (length !== null) {
        left = Number(length[1]) - (chunk.length - end - 4)
        if (left > 0) return false
        left = -1
        return true
      }
      left = -2
      tail = chunk
    } else {
      // Chunked: the answer ends with the empty chunk, which may be cut by a read.
      tail = data.length >= chunkedEnd.length ? data : Buffer.concat([tail.subarray(-chunkedEnd.length), data])
    }
    if (!tail.subarray(-chunkedEnd.length).equals(chunkedEnd)) return false
    left = -1
    tail = Buffer.alloc(0)
    return true
  }
}

process.on('message', (message) => {
  if (message === 'stop') process.exit(0)
  run(/** @type {Job} */ (message)).then(
    (result) => process.send?.(result),
    (error) => process.send?.({ error: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
