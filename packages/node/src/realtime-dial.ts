import type { IncomingMessage } from 'node:http'
import type { ConnectionOptions } from 'node:tls'
import type { Dial, TransportResponse } from '@modelgate/core'
import { WebSocket } from 'ws'

/** TLS options of the connections to upstreams, as `node:tls` takes them. */
export type DialTls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'rejectUnauthorized'>

/** Milliseconds for the closing handshake of a session; then the socket is destroyed. */
export const closeTimeout = 2000

/**
 * Opens WebSockets to upstreams. Compression is never offered: it costs memory for each session, and audio does not get
 * smaller. An open socket is paused, so that the upstream's first message waits for the client.
 */
export const createDial =
  (tls: DialTls = {}): Dial<WebSocket> =>
  ({ url, headers, messageBytes, signal }) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url, {
        ...tls,
        headers: { ...headers },
        perMessageDeflate: false,
        maxPayload: messageBytes,
        // Known to `ws`, not yet to its types.
        ...{ closeTimeout },
      })
      const giveUp = (): void => socket.terminate()
      const settled = (): void => {
        signal.removeEventListener('abort', giveUp)
        socket.off('error', failed)
      }
      const failed = (error: Error): void => {
        settled()
        // `terminate` makes errors of its own, and an unheard one would end the process.
        socket.on('error', () => {})
        reject(error)
      }
      socket.on('error', failed)
      socket.once('open', () => {
        settled()
        socket.pause()
        resolve({ socket })
      })
      socket.once('unexpected-response', (_request, response) => {
        settled()
        socket.on('error', () => {})
        resolve({ refusal: answerOf(response) })
      })
      if (signal.aborted) giveUp()
      else signal.addEventListener('abort', giveUp)
    })

/** A plain HTTP answer to an upgrade, for the gateway to read. */
function answerOf(response: IncomingMessage): TransportResponse {
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
        if (size > limit) throw new RangeError(`The answer is larger than ${limit} bytes.`)
        chunks.push(chunk)
      }
      return Buffer.concat(chunks)
    },
    stream: () => response,
    discard,
  }
}
