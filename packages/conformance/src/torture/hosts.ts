import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Gateway } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { fastifyPlugin } from '@modelgate/fastify'
import { honoMiddleware } from '@modelgate/hono'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'

/** A gateway mounted as documented, on a listening server. */
export interface Host {
  readonly server: Server
  readonly origin: string
}

const listen = async (server: Server): Promise<Host> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** The servers of the promises. */
export const hosts: Readonly<Record<string, (gateway: Gateway) => Promise<Host>>> = {
  node: (gateway) => listen(createServer(nodeListener(gateway)).on('upgrade', nodeUpgrade(gateway))),
  express: (gateway) =>
    listen(createServer(express().use(expressMiddleware(gateway))).on('upgrade', nodeUpgrade(gateway))),
  async fastify(gateway) {
    const app = Fastify()
    await app.register(fastifyPlugin(gateway))
    app.server.on('upgrade', nodeUpgrade(gateway))
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    return { server: app.server, origin }
  },
  hono: (gateway) =>
    listen(
      createServer(getRequestListener(new Hono().use(honoMiddleware(gateway)).fetch)).on(
        'upgrade',
        nodeUpgrade(gateway),
      ),
    ),
}
