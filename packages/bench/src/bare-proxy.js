// The baseline: `node:http` in front, an undici `Pool` behind, and nothing in between. With `parse`, it also parses
// each request.
import http from 'node:http'
import { createForward } from './forward.js'
import { report } from './process.js'

const [upstream = '', mode] = process.argv.slice(2)
const server = http.createServer(createForward(upstream, mode === 'parse').forward)
server.listen(0, '127.0.0.1', () => report(server))
