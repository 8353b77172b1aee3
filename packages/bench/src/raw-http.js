// Minimal HTTP/1.1 on raw sockets: a cheap client leaves the CPU to the measured side.

/** @param {{ path: string, headers: { [name: string]: string }, body: string }} request */
export function requestBytes({ path, headers, body }) {
  const head = Object.entries({ host: 'bench', 'content-type': 'application/json', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

const chunkedEnd = Buffer.from('0\r\n\r\n')

/** @returns {(data: Buffer) => boolean} returns true when a response is complete */
export function answerReader() {
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
      // Chunked: the response ends with the empty chunk, which may be split between reads.
      tail = data.length >= chunkedEnd.length ? data : Buffer.concat([tail.subarray(-chunkedEnd.length), data])
    }
    if (!tail.subarray(-chunkedEnd.length).equals(chunkedEnd)) return false
    left = -1
    tail = Buffer.alloc(0)
    return true
  }
}
