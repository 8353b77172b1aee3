import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { serve } from '@hono/node-server'
import {
  createGateway,
  type FinishEvent,
  type Gateway,
  type GatewayConfig,
  type Identity,
  openai,
  openaiCompatible,
} from '@modelgate/core'
import { expressMiddleware, nodeUpgrade as expressUpgrade } from '@modelgate/express'
import { fastifyPlugin, nodeUpgrade as fastifyUpgrade } from '@modelgate/fastify'
import { honoMiddleware } from '@modelgate/hono'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { type FakeRealtimeOptions, type ListeningRealtime, listenRealtime } from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import express from 'express'
import express4 from 'express4'
import Fastify from 'fastify'
import { Hono } from 'hono'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { onTestFinished } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { upstreamKey } from '../base/gateways.ts'

export const token = 'client-token-of-rita-5521'
export const narrowToken = 'client-token-of-ned-0917'

/** Every way to accept upgrades, as documented. */
export const realtimeServers: readonly { readonly name: string; start(gateway: Gateway): Promise<Server> }[] = [
  {
    name: 'node:http',
    start: (gateway) => listening(createServer(nodeListener(gateway)).on('upgrade', nodeUpgrade(gateway)).listen(0)),
  },
  ...[
    { name: 'Express 5', make: express },
    { name: 'Express 4', make: express4 },
  ].map(({ name, make }) => ({
    name,
    start(gateway: Gateway) {
      const app = make()
      app.use(expressMiddleware(gateway))
      return listening(app.listen(0).on('upgrade', expressUpgrade(gateway)))
    },
  })),
  {
    name: 'Fastify 5',
    async start(gateway) {
      const app = Fastify()
      app.register(fastifyPlugin(gateway))
      app.server.on('upgrade', fastifyUpgrade(gateway))
      await app.listen({ port: 0 })
      return app.server
    },
  },
  {
    name: 'Hono',
    start(gateway) {
      const app = new Hono()
      app.use(honoMiddleware(gateway))
      return listening((serve({ fetch: app.fetch, port: 0 }) as Server).on('upgrade', nodeUpgrade(gateway)))
    },
  },
]

async function listening(server: Server): Promise<Server> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  return server
}

/** A gateway on a server with a fake realtime upstream. */
export interface RealtimeFixture {
  readonly gateway: Gateway
  readonly fake: ListeningRealtime
  readonly server: Server
  readonly port: number
  readonly finished: FinishEvent[]
  /** Opens a session with the official client. */
  sdk(model?: string): OpenAIRealtimeWS
  /** Opens a bare WebSocket; `headers` replace the valid token. */
  ws(path?: string, options?: ClientOptions & { readonly protocols?: readonly string[] }): Client
}

/** A WebSocket that records its messages. */
export interface Client {
  readonly socket: WebSocket
  readonly messages: (Buffer | string)[]
  readonly opened: Promise<void>
  readonly closed: Promise<{ code: number; reason: string }>
  /** The HTTP response instead of the upgrade. */
  readonly refused: Promise<{ status: number; headers: Record<string, unknown>; text: string }>
}

export async function startRealtime(
  start: (gateway: Gateway) => Promise<Server> = realtimeServers[0]?.start ?? (() => Promise.reject()),
  options: {
    readonly config?: Partial<GatewayConfig> | ((fake: ListeningRealtime) => Partial<GatewayConfig>)
    readonly fake?: FakeRealtimeOptions
  } = {},
): Promise<RealtimeFixture> {
  const fake = await listenRealtime({ apiKey: upstreamKey, ...options.fake })
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: (given): Identity | null =>
      given === token ? { id: 'rita' } : given === narrowToken ? { id: 'ned', models: ['other'] } : null,
    upstreams: {
      up: openai({ apiKey: upstreamKey, baseURL: fake.url }),
      down: openai({ apiKey: upstreamKey, baseURL: 'http://127.0.0.1:1/v1' }),
      plain: openaiCompatible({ apiKey: upstreamKey, baseURL: fake.url }),
    },
    models: {
      'gpt-realtime': 'up',
      renamed: { upstream: 'up', model: 'upstream-name' },
      other: 'up',
      lost: 'down',
      second: ['down', 'up'],
      deaf: 'plain',
    },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    ...(typeof options.config === 'function' ? options.config(fake) : options.config),
  })
  const server = await start(gateway)
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    await gateway.close({ graceMs: 0 })
    await fake.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    gateway,
    fake,
    server,
    port,
    finished,
    sdk(model = 'gpt-realtime') {
      const client = new OpenAI({ apiKey: token, baseURL: `http://127.0.0.1:${port}/v1` })
      // The client requires wss; a test server has no TLS, so the client gets a plain connection.
      const rt = new OpenAIRealtimeWS(
        { model, options: { createConnection: () => connect(port, '127.0.0.1') } },
        client,
      )
      rt.on('error', () => {})
      onTestFinished(() => rt.socket.terminate())
      return rt
    },
    ws(path = '/v1/realtime?model=gpt-realtime', { protocols = [], ...more } = {}) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], {
        headers: { authorization: `Bearer ${token}` },
        perMessageDeflate: true,
        ...more,
      })
      const messages: (Buffer | string)[] = []
      socket.on('message', (data: Buffer, isBinary) => messages.push(isBinary ? data : data.toString()))
      socket.on('error', () => {})
      onTestFinished(() => socket.terminate())
      return {
        socket,
        messages,
        opened: new Promise((resolve) => socket.once('open', () => resolve())),
        closed: new Promise((resolve) =>
          socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
        ),
        refused: new Promise((resolve) => {
          socket.once('unexpected-response', (_request, response) => {
            let text = ''
            response.on('data', (chunk) => {
              text += chunk
            })
            response.on('end', () => {
              resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
              // The client leaves the connection to its listeners.
              socket.terminate()
            })
          })
        }),
      }
    },
  }
}

/** Returns the session that a client has just opened, at the upstream. */
export async function sessionOf({ fake }: RealtimeFixture, number = 1) {
  await until(() => fake.sessions.length >= number, `session ${number} upstream`)
  const session = fake.sessions[number - 1]
  if (session === undefined) throw new Error('no session')
  return session
}
