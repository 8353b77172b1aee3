// Forwards a request to the upstream through an undici `Pool`: the work of every bare proxy.
import { Pool } from 'undici'

/**
 * @typedef {{ status: number, type: string, stream?: import('node:stream').Readable, bytes?: Buffer }} Answer either a
 * stream or all bytes
 */

/**
 * @param {string} upstream @param {boolean} [parse] parses each request, the minimum of a proxy that needs the model's
 * name
 */
export function createForward(upstream, parse = false) {
  const pool = new Pool(upstream, { pipelining: 1 })

  /** @param {string} path @param {Buffer} body @returns {Promise<Answer>} */
  async function ask(path, body) {
    if (parse) JSON.parse(body.toString())
    const headers = { 'content-type': 'application/json', authorization: 'Bearer upstream-key' }
    const answer = await pool.request({ path, method: 'POST', headers, body })
    const type = String(answer.headers['content-type'])
    if (type.includes('event-stream')) return { status: answer.statusCode, type, stream: answer.body }
    return { status: answer.statusCode, type, bytes: Buffer.from(await answer.body.arrayBuffer()) }
  }

  /**
   * Handles Node's request and response.
   * @param {import('node:http').IncomingMessage} req @param {import('node:http').ServerResponse} res
   */
  function forward(req, res) {
    /** @type {Buffer[]} */
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => {
      const [first = Buffer.alloc(0), ...more] = chunks
      ask(req.url ?? '/', more.length === 0 ? first : Buffer.concat(chunks)).then(
        ({ status, type, stream, bytes }) => {
          if (stream !== undefined) {
            res.writeHead(status, { 'content-type': type })
            stream.pipe(res)
          } else {
            res.writeHead(status, { 'content-type': type, 'content-length': bytes?.length ?? 0 })
            res.end(bytes)
          }
        },
        (error) => res.destroy(error),
      )
    })
  }
  return { ask, forward }
}
