// The gateway on plain Node.
import http from 'node:http'
import { nodeListener } from '@modelgate/node'
import { benchGateway } from './bench-gateway.js'
import { report } from './process.js'

const [upstream = ''] = process.argv.slice(2)
const { gateway, tokens } = benchGateway(upstream)
const server = http.createServer(nodeListener(gateway))
server.listen(0, '127.0.0.1', () => report(server, tokens))
