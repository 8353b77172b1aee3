import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Gateway } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { fastifyPlugin } from '@modelgate/fastify'
import { honoMiddleware } from '@modelgate/hono'
import { honoMiddlewareForNode } from '@modelgate/hono/test-support'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import express from 'express'
import express4 from 'express4'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { fetchOf } from './gateways.ts'
import type { ClientTarget } from './sdk-clients.ts'

export interface Running extends ClientTarget {
  readonly origin: string
  /** Returns the number of open connections; undefined without sockets. */
  connections?(): Promise<number>
  close(): Promise<void>
}

/** One way to serve a gateway. */
export interface ServerKind {
  readonly name: string
  /** True if the host has its own routes and handles unknown paths itself. */
  readonly hosted: boolean
  start(gateway: Gateway): Promise<Running>
}

async function listen(server: Server): Promise<Running> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The host's own response to an unknown path. */
export const hostsNotFound = 'nothing of the host here'

const overHttp = (name: string, hosted: boolean, listener: (gateway: Gateway) => RequestListener): ServerKind => ({
  name,
  hosted,
  start: (gateway) => listen(createServer(listener(gateway)).on('upgrade', nodeUpgrade(gateway))),
})

/** Adds a route before and a route after the gateway; neither may be affected. */
const expressApp =
  (make: typeof express, ...before: express.RequestHandler[]) =>
  (gateway: Gateway): RequestListener => {
    const app = make()
    for (const handler of before) app.use(handler)
    app.get('/before', (_req, res) => void res.send('before'))
    app.use(expressMiddleware(gateway))
    app.get('/after', (_req, res) => void res.send('after'))
    app.use((_req, res) => void res.status(404).send(hostsNotFound))
    return app
  }

const hono =
  (middleware: typeof honoMiddleware) =>
  (gateway: Gateway): RequestListener => {
    const app = new Hono()
    app.get('/before', (context) => context.text('before'))
    app.use(middleware(gateway))
    app.get('/after', (context) => context.text('after'))
    app.notFound((context) => context.text(hostsNotFound, 404))
    return getRequestListener(app.fetch)
  }

export const servers: readonly ServerKind[] = [
  overHttp('node:http', false, nodeListener),
  overHttp('Express 5', true, expressApp(express)),
  overHttp('Express 4', true, expressApp(express4)),
  {
    name: 'Fastify 5',
    hosted: true,
    async start(gateway) {
      const app = Fastify()
      app.get('/before', async () => 'before')
      await app.register(fastifyPlugin(gateway))
      app.get('/after', async () => 'after')
      app.setNotFoundHandler((_request, reply) => void reply.code(404).send(hostsNotFound))
      const origin = await app.listen({ port: 0, host: '127.0.0.1' })
      return {
        origin,
        connections: () =>
          new Promise((resolve, reject) => {
            app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
          }),
        async close() {
          app.server.closeAllConnections()
          await app.close()
        },
      }
    },
  },
  overHttp('Hono', true, hono(honoMiddleware)),
  // Uses the package's Node entry, selected by the `node` condition of its exports.
  overHttp('Hono on Node', true, hono(honoMiddlewareForNode)),
  {
    name: 'in process',
    hosted: false,
    async start(gateway) {
      return { origin: 'http://gateway.test', fetch: fetchOf(gateway), close: async () => {} }
    },
  },
]

/** Changes a server so that clients reach the gateway below a prefix, where a host has no paths of its own. */
const below = (server: ServerKind): ServerKind => ({
  name: `${server.name} below ${prefix}`,
  hosted: false,
  async start(gateway) {
    const running = await server.start(gateway)
    return { ...running, origin: `${running.origin}${prefix}` }
  },
})

const prefix = '/ai'

/** Hosts with the gateway below a prefix. */
export const prefixedServers: readonly ServerKind[] = [
  overHttp('Express 5', false, (gateway) => express().use(prefix, expressMiddleware(gateway))),
  overHttp('Hono', false, (gateway) =>
    getRequestListener(new Hono().use(`${prefix}/*`, honoMiddleware(gateway)).fetch),
  ),
  {
    name: 'Fastify 5',
    hosted: false,
    async start(gateway: Gateway) {
      const app = Fastify()
      await app.register(fastifyPlugin(gateway), { prefix })
      const origin = await app.listen({ port: 0, host: '127.0.0.1' })
      return {
        origin,
        async close() {
          app.server.closeAllConnections()
          await app.close()
        },
      }
    },
  },
].map(below)

/** Hosts that parse every body before the gateway sees the request: the raw bytes are gone, the content is not. */
export const parsingServers: readonly ServerKind[] = [
  overHttp('Express 5 after express.json', true, expressApp(express, express.json({ limit: '10mb' }))),
  overHttp('Express 4 after express.json', true, expressApp(express4, express4.json({ limit: '10mb' }))),
]
