// What everything is measured against: `node:http` in front, an undici `Pool` behind, and nothing in between.
// With `parse` it also parses each request, which is the least a proxy can do that looks at the model's name.
import http from 'node:http'
import { Pool } from 'undici'
import { report } from './process.js'

const [upstream = '', mode] = process.argv.slice(2)
const pool = new Pool(upstream, { pipelining: 1 })

const server = http.createServer((req, res) => {
  /** @type {Buffer[]} */
  const chunks = []
  req.on('data', (chunk) => chunks.push(chunk))
  req.on('end', () => {
    forward(req.url ?? '/', chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), res).catch((error) => {
      res.destroy(error)
    })
  })
})

/** @param {string} path @param {Buffer | undefined} body @param {http.ServerResponse} res */
async function forward(path, body = Buffer.alloc(0), res) {
  if (mode === 'parse') JSON.parse(body.toString())
  const headers = { 'content-type': 'application/json', authorization: 'Bearer upstream-key' }
  const answer = await pool.request({ path, method: 'POST', headers, body })
  const type = String(answer.headers['content-type'])
  if (type.includes('event-stream')) {
    res.writeHead(answer.statusCode, { 'content-type': type })
    answer.body.pipe(res)
    return
  }
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  res.writeHead(answer.statusCode, { 'content-type': type, 'content-length': bytes.length })
  res.end(bytes)
}

server.listen(0, '127.0.0.1', () => report(server))
