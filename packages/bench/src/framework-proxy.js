// A framework with the gateway, or with a native handler that does the work of the bare proxy.
//   node framework-proxy.js <upstream> <express | fastify | hono> <gateway | bare>
import { Readable } from 'node:stream'
import { createAdaptorServer } from '@hono/node-server'
import { expressMiddleware } from '@modelgate/express'
import { fastifyPlugin } from '@modelgate/fastify'
import { honoMiddleware } from '@modelgate/hono'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { benchGateway } from './bench-gateway.js'
import { createForward } from './forward.js'
import { report } from './process.js'

const [upstream = '', framework = '', mode] = process.argv.slice(2)
const { gateway, tokens } = benchGateway(upstream)
const bare = mode === 'bare'
const { ask, forward } = createForward(upstream)

/** @type {{ [framework: string]: () => Promise<void> }} */
const start = {
  async express() {
    const app = express()
    if (bare) app.post('/*path', forward)
    else app.use(expressMiddleware(gateway))
    const server = app.listen(0, '127.0.0.1', () => report(server, tokens))
  },

  async fastify() {
    const app = fastify({ bodyLimit: 1 << 26 })
    if (bare) {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => parsed(null, body))
      app.post('/*', async (request, reply) => {
        const { status, type, stream, bytes } = await ask(request.url, /** @type {Buffer} */ (request.body))
        return reply
          .code(status)
          .type(type)
          .send(stream ?? bytes)
      })
    } else app.register(fastifyPlugin(gateway))
    await app.listen({ port: 0, host: '127.0.0.1' })
    report(app.server, tokens)
  },

  async hono() {
    const app = new Hono()
    if (bare)
      app.post('/*', async (c) => {
        const { status, type, stream, bytes } = await ask(c.req.path, Buffer.from(await c.req.arrayBuffer()))
        const body = stream === undefined ? bytes : Readable.toWeb(stream)
        return new Response(/** @type {BodyInit} */ (body), { status, headers: { 'content-type': type } })
      })
    else app.use(honoMiddleware(gateway))
    const server = /** @type {import('node:http').Server} */ (createAdaptorServer({ fetch: app.fetch }))
    server.listen(0, '127.0.0.1', () => report(server, tokens))
  },
}
await start[framework]?.()
