import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Starts a server on a free loopback port. It is closed after the test. */
export async function serve(
  listener: RequestListener | Server,
): Promise<{ port: number; url: string; server: Server }> {
  const server = typeof listener === 'function' ? createServer(listener) : listener
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}`, server }
}

/** A raw connection, for requests that no HTTP client would send. */
export function dial(port: number): { socket: Socket; received: () => string; closed: Promise<void> } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  onTestFinished(() => {
    socket.destroy()
  })
  return { socket, received: () => text, closed }
}
