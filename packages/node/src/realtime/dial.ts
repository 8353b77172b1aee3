import type { IncomingMessage } from 'node:http'
import type { ConnectionOptions } from 'node:tls'
import type { RealtimeTransport, TransportResponse } from '@modelgate/core'
import { WebSocket } from 'ws'

/** TLS options of the connections to upstreams, as `node:tls` takes them. */
export type DialTls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'rejectUnauthorized'>

/** Milliseconds for the closing handshake of a session, after which the socket is destroyed. */
export const closeTimeout = 2000

/**
 * Creates the function that opens WebSockets to upstreams. Compression is never offered: it costs memory for each session and does
 * not make audio smaller. An open socket is paused, so that the upstream's first message waits for the client.
 */
export const createDial =
  (tls: DialTls = {}): RealtimeTransport<WebSocket> =>
  ({ url, headers, messageBytes, signal }) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url, {
        ...tls,
        headers: { ...headers },
        perMessageDeflate: false,
        maxPayload: messageBytes,
        // Missing in the types of `ws`.
        ...{ closeTimeout },
      })
      const onAbort = (): void => socket.terminate()
      const removeListeners = (): void => {
        signal.removeEventListener('abort', onAbort)
        socket.off('error', onError)
      }
      const onError = (error: Error): void => {
        removeListeners()
        // `terminate` emits further errors, and an error without a listener would end the process.
        socket.on('error', () => {})
        reject(error)
      }
      socket.on('error', onError)
      socket.once('open', () => {
        removeListeners()
        socket.pause()
        resolve({ socket })
      })
      socket.once('unexpected-response', (_request, response) => {
        removeListeners()
        socket.on('error', () => {})
        resolve({ refusal: toTransportResponse(response) })
      })
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort)
    })

/** Presents a plain HTTP response to an upgrade as a transport response. */
function toTransportResponse(response: IncomingMessage): TransportResponse {
  const discard = (): void => void response.destroy()
  response.on('error', () => {})
  return {
    status: response.statusCode ?? 0,
    header(name) {
      const value = response.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    async bytes(limit) {
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length
        if (size > limit) throw new RangeError(`The response is larger than ${limit} bytes.`)
        chunks.push(chunk)
      }
      return Buffer.concat(chunks)
    },
    stream: () => response,
    discard,
  }
}
