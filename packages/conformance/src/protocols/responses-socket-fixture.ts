import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createGateway,
  type FinishEvent,
  type Gateway,
  type GatewayConfig,
  type Identity,
  openai,
} from '@modelgate/core'
import {
  createFakeProvider,
  createResponsesSockets,
  type FakeProvider,
  type FakeProviderOptions,
  type FakeResponsesSockets,
  listen,
} from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import { onTestFinished } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'
import { noSharedHealth, upstreamKey, upstreamOf } from '../base/gateways.ts'
import type { Format } from '../base/recorded-traffic.ts'
import type { SocketError, SocketEvent } from '../base/responses-socket.ts'
import { realtimeServers } from './realtime-fixture.ts'

export const token = 'client-token-of-rita-5521'
export const otherToken = 'client-token-of-ned-0917'

type Message = SocketEvent & Partial<Omit<SocketError, keyof SocketEvent>>

/** A bare WebSocket that records its messages. */
export interface RawClient {
  readonly socket: WebSocket
  readonly messages: Message[]
  /** The messages as received. */
  readonly texts: string[]
  readonly opened: Promise<void>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  /** The HTTP response instead of the upgrade. */
  readonly refused: Promise<{ readonly status: number; readonly text: string }>
  /** Sends `response.create` for the model `demo` without store. */
  create(body?: object): void
  /** Waits for a number of terminal messages, errors of requests included. */
  ended(count: number): Promise<Message[]>
}

/** A gateway on a server, with a fake provider as its upstream. */
export interface SocketFixture {
  readonly gateway: Gateway
  readonly fake: FakeProvider
  readonly server: Server
  readonly port: number
  readonly finished: FinishEvent[]
  /** The WebSockets that the upstream accepts. */
  readonly upstream: FakeResponsesSockets
  /** Opens a WebSocket with the token. */
  ws(options?: ClientOptions & { readonly protocols?: readonly string[]; readonly path?: string }): RawClient
}

const isTerminal = ({ type, status }: Message): boolean =>
  type === 'response.completed' || type === 'response.failed' || (type === 'error' && status !== undefined)

/** An upstream in the format responses that also accepts a WebSocket. */
export const socketUpstream = (baseURL: string, apiKey = upstreamKey) =>
  openai({ apiKey, baseURL, formats: ['responses'], webSocket: true })

export async function startSockets({
  upstream = 'chat',
  config = {},
  start = realtimeServers[0]?.start,
  fakeOptions = {},
}: {
  /** `socket`: the format responses, with a WebSocket. */
  readonly upstream?: Format | 'socket'
  readonly fakeOptions?: FakeProviderOptions
  readonly config?: Partial<GatewayConfig<'up'>>
  readonly start?: ((gateway: Gateway) => Promise<Server>) | undefined
} = {}): Promise<SocketFixture> {
  if (start === undefined) throw new Error('no server')
  const fake = createFakeProvider({ apiKey: upstreamKey, ...fakeOptions })
  const upstreamSockets = await createResponsesSockets(fake)
  const provider = await listen(fake, { upgrade: upstreamSockets.upgrade })
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: (given): Identity | null => (given === token ? { id: 'rita' } : given === otherToken ? { id: 'ned' } : null),
    upstreams: { up: upstream === 'socket' ? socketUpstream(provider.url) : upstreamOf(upstream, provider.origin) },
    models: { '*': 'up' },
    logger: false,
    retry: false,
    breaker: false,
    health: noSharedHealth,
    ...config,
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }, ...(config.plugins ?? [])],
  })
  const server = await start(gateway)
  const { port } = server.address() as AddressInfo
  const clients: WebSocket[] = []
  onTestFinished(async () => {
    for (const client of clients) client.terminate()
    await gateway.close({ graceMs: 0 })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await provider.close()
  })
  return {
    gateway,
    fake,
    server,
    port,
    finished,
    upstream: upstreamSockets,
    ws({ protocols = [], path = '/v1/responses', ...options } = {}) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], {
        headers: { authorization: `Bearer ${token}` },
        ...options,
      })
      clients.push(socket)
      const messages: Message[] = []
      const texts: string[] = []
      socket.on('message', (data: Buffer) => {
        texts.push(data.toString())
        messages.push(JSON.parse(data.toString()) as Message)
      })
      socket.on('error', () => {})
      return {
        socket,
        messages,
        texts,
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
              resolve({ status: response.statusCode ?? 0, text })
              socket.terminate()
            })
          })
        }),
        create: (body) =>
          socket.send(
            JSON.stringify({ type: 'response.create', model: 'demo', store: false, input: 'hello', ...body }),
          ),
        async ended(count) {
          await until(() => messages.filter(isTerminal).length >= count, `${count} responses`, 30_000)
          return messages.filter(isTerminal)
        },
      }
    },
  }
}
