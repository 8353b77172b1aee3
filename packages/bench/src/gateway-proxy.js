// The gateway on plain Node. The argument `log` adds the access log, `calls` the recent calls, `capture` those with the bodies of calls.
import { openSync, writeSync } from 'node:fs'
import http from 'node:http'
import { devNull } from 'node:os'
import { consolePages } from '@modelgate/console'
import { nodeListener } from '@modelgate/node'
import { accessLog } from '@modelgate/node/logs'
import { benchGateway } from './bench-gateway.js'
import { report } from './process.js'

const [upstream = '', mode] = process.argv.slice(2)
const { gateway, tokens } = benchGateway(upstream, pluginsOf(mode))
const server = http.createServer(nodeListener(gateway))
server.listen(0, '127.0.0.1', () => report(server, tokens))

/** @param {string | undefined} mode @returns {import('@modelgate/core').Plugin[]} */
function pluginsOf(mode) {
  const options = { authorize: () => false }
  if (mode === 'log') return [fileLog()]
  if (mode === 'calls') return [consolePages({ playground: false, recentCalls: options })]
  if (mode === 'capture') return [consolePages({ playground: false, recentCalls: { ...options, capture: 'bodies' } })]
  return []
}

/** Logs with one system call for each write, as to a file or pipe. */
function fileLog() {
  const file = openSync(devNull, 'w')
  return accessLog({ format: 'json', write: (lines) => void writeSync(file, lines) })
}
