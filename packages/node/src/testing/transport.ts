import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { TransportRequest, TransportResponse } from '@modelgate/core'
import { onTestFinished } from 'vitest'
import { createTransport, type UndiciTransportOptions, undiciTransport } from '../transport/undici-transport.ts'
import { serve } from './server.ts'

type HandlingExchange = Parameters<typeof createTransport>[1]

export function start(options: UndiciTransportOptions = {}, exchange?: HandlingExchange) {
  const transport = exchange === undefined ? undiciTransport(options) : createTransport(options, exchange)
  onTestFinished(() => transport.close())
  const call = (url: string, rest: Partial<TransportRequest> = {}) =>
    transport({ url, method: 'POST', headers: {}, body: '{}', signal: new AbortController().signal, ...rest })
  return { transport, call }
}

/** A server that responds to each request on the raw socket. */
export function serveRaw(onRequest: (socket: Socket, request: number) => void) {
  let requests = 0
  let connections = 0
  const server = createServer()
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    connections++
    socket.on('error', () => {})
    socket.on('data', () => onRequest(socket, ++requests))
  })
  return serve(server).then((served) => ({ ...served, requests: () => requests, connections: () => connections }))
}

export const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

export async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all).toString()
}

/** Both ways to read a body must give the same result. */
export const readers: [string, (answer: TransportResponse) => Promise<string>][] = [
  ['bytes', async (answer) => text(await answer.bytes(1e6))],
  ['stream', (answer) => readAll(answer.stream())],
]
