import type { Server } from 'node:http'
import type { Gateway } from '@modelgate/core'

/**
 * Ends a server without breaking a call: no new connections, the running calls to their end (at most `graceMs`, 30,000 by default),
 * then what is left of the connections. Resolves once nothing is.
 */
export async function drain(server: Server, gateway: Pick<Gateway, 'close'>, graceMs = 30_000): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  await gateway.close({ graceMs })
  // The last bytes of the last answers may still be on their way; connections that have sent them are idle.
  const sweep = setInterval(() => server.closeIdleConnections(), 20)
  const giveUp = setTimeout(() => server.closeAllConnections(), 2000)
  await closed
  clearInterval(sweep)
  clearTimeout(giveUp)
}
