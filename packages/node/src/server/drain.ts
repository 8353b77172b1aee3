import type { Server } from 'node:http'
import type { Gateway } from '@modelgate/core'

/**
 * Shuts a server down gracefully: accepts no new connections, waits for running calls, then closes the remaining connections.
 * Resolves when all are closed.
 *
 * @param graceMs milliseconds for running calls; default 30,000
 */
export async function drain(server: Server, gateway: Pick<Gateway, 'close'>, graceMs = 30_000): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  await gateway.close({ graceMs })
  // The last bytes of responses may still be waiting to be sent; a connection is idle once they are.
  const sweep = setInterval(() => server.closeIdleConnections(), 20)
  const deadline = setTimeout(() => server.closeAllConnections(), 2000)
  await closed
  clearInterval(sweep)
  clearTimeout(deadline)
}
