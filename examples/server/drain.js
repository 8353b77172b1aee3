/**
 * Ends a server without breaking a call: no new connections, the running calls to their end (at most `graceMs`), then
 * what is left of the connections.
 * @param {import('node:http').Server} server @param {import('@modelgate/core').Gateway} gateway @param {number} [graceMs]
 */
export async function drain(server, gateway, graceMs = 30_000) {
  const closed = new Promise((resolve) => server.close(resolve))
  await gateway.close({ graceMs })
  // The last bytes of the last answers may still be on their way; connections that have sent them are idle.
  const sweep = setInterval(() => server.closeIdleConnections(), 20)
  const giveUp = setTimeout(() => server.closeAllConnections(), 2000)
  await closed
  clearInterval(sweep)
  clearTimeout(giveUp)
}
