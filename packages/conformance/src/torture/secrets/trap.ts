import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/** A server that nobody is to call. */
export interface Trap {
  readonly port: number
  /** `127.0.0.1:port`. */
  readonly host: string
  readonly origin: string
  /** Connections that were made to it. */
  readonly dials: number
  /** The first lines of what they said. */
  readonly heard: readonly string[]
  close(): Promise<void>
}

export async function startTrap(): Promise<Trap> {
  let dials = 0
  const heard: string[] = []
  const server = createServer((socket) => {
    dials++
    socket.on('error', () => {})
    socket.once('data', (data) => {
      heard.push(data.toString('latin1').split('\r\n', 1)[0]?.slice(0, 120) ?? '')
      socket.end(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  return {
    port,
    host,
    origin: `http://${host}`,
    get dials() {
      return dials
    },
    heard,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
