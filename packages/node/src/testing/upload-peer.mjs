// Client and upstream of a large upload, each in its own process, so that the test process holds only the gateway's memory.
// `upstream`: counts and hashes the file of each upload. `client <url> <megabytes>`: sends one, with the model after the file.
import { createHash } from 'node:crypto'
import { createServer, request } from 'node:http'

const boundary = 'upload-peer-boundary'
const pieceBytes = 64 * 1024
const [, , role, url, megabytes] = process.argv

/**
 * Returns a chunk that differs from the others, with bytes that are difficult for parsers.
 *
 * @param {number} index
 */
function piece(index) {
  const bytes = Buffer.alloc(pieceBytes, `\r\n--upload-peer\0${index}\r\n`)
  bytes.writeUInt32LE(index, 0)
  return bytes
}

function upstream() {
  const server = createServer((req, res) => {
    const hash = createHash('sha256')
    let tail = Buffer.alloc(0)
    let head = ''
    let started = false
    const own = /boundary=(.+)$/.exec(req.headers['content-type'] ?? '')?.[1] ?? ''
    const end = `\r\n--${own}`
    let rest = ''
    let over = false
    req.on('data', (chunk) => {
      let bytes = Buffer.concat([tail, chunk])
      tail = Buffer.alloc(0)
      if (!started) {
        const at = bytes.indexOf('\r\n\r\n')
        if (at < 0) {
          tail = bytes
          return
        }
        head = bytes.subarray(0, at).toString()
        bytes = bytes.subarray(at + 4)
        started = true
      }
      if (over) {
        rest += bytes.toString()
        return
      }
      const stop = bytes.indexOf(end)
      if (stop >= 0) {
        hash.update(bytes.subarray(0, stop))
        rest = bytes.subarray(stop).toString()
        over = true
        return
      }
      const keep = Math.max(0, bytes.length - end.length)
      hash.update(bytes.subarray(0, keep))
      tail = Buffer.from(bytes.subarray(keep))
    })
    req.on('end', () => {
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ text: hash.digest('hex'), head, rest, length: req.headers['content-length'] ?? null }))
    })
  })
  server.listen(0, '127.0.0.1', () => {
    const address = /** @type {import('node:net').AddressInfo} */ (server.address())
    process.send?.(`http://127.0.0.1:${address.port}`)
  })
}

async function client() {
  const req = request(`${url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
  const answered = new Promise((resolve, reject) => {
    req.on('error', reject)
    req.on('response', async (res) => {
      let text = ''
      for await (const chunk of res) text += chunk
      resolve({ status: res.statusCode, text })
    })
  })
  const hash = createHash('sha256')
  /** @param {string | Buffer} bytes */
  const send = (bytes) => (req.write(bytes) ? undefined : new Promise((resolve) => req.once('drain', resolve)))
  await send(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="big.wav"\r\nContent-Type: audio/wav\r\n\r\n`,
  )
  for (let index = 0; index < Number(megabytes) * 16; index++) {
    const bytes = piece(index)
    hash.update(bytes)
    await send(bytes)
  }
  await send(`\r\n--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\nalias\r\n--${boundary}--\r\n`)
  req.end()
  const { status, text } = await answered
  process.send?.({ status, text, sha256: hash.digest('hex') })
}

if (role === 'upstream') upstream()
else client()
