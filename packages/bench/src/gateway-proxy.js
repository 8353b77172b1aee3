// The gateway as a user would run it on Node: with authentication, validation, routing, and an onFinish that counts.
import http from 'node:http'
import { createGateway, openaiCompatible } from '@modelgate/core'
import { nodeListener } from '@modelgate/node'
import { report } from './process.js'

const [upstream = ''] = process.argv.slice(2)
const apiKey = 'upstream-key'
let tokens = 0

const gateway = createGateway({
  auth: (token) => (token === 'bench-token' ? { id: 'bench' } : null),
  upstreams: {
    chat: openaiCompatible({ baseURL: `${upstream}/json/v1`, apiKey }),
    messages: openaiCompatible({ baseURL: `${upstream}/json/v1`, apiKey, formats: ['messages'] }),
    stream: openaiCompatible({ baseURL: `${upstream}/stream/v1`, apiKey }),
  },
  models: { 'chat-model': 'chat', 'messages-model': 'messages', 'stream-model': 'stream' },
  plugins: [
    {
      name: 'meter',
      onFinish: ({ usage }) => {
        tokens += usage?.output.total ?? 0
      },
    },
  ],
})

const server = http.createServer(nodeListener(gateway))
server.listen(0, '127.0.0.1', () => report(server, () => tokens))
