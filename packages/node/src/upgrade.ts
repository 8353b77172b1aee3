import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Gateway } from '@modelgate/core'

/** A listener for a server's `upgrade` event: answers in plain HTTP what `gateway.upgrade` says, and closes. */
export function nodeUpgrade(gateway: Gateway): (req: IncomingMessage, socket: Duplex, head: Buffer) => void {
  return (req, socket) => {
    // A client that leaves while it is refused is no event; unheard, it would end the process.
    socket.on('error', () => socket.destroy())
    answer(gateway, req, socket).catch(() => {
      if (socket.writable) socket.end(head(500, { 'content-length': '0' }))
      else socket.destroy()
    })
  }
}

async function answer(gateway: Gateway, req: IncomingMessage, socket: Duplex): Promise<void> {
  const response = await gateway.upgrade(new Request(addressOf(req), { headers: headersOf(req) }))
  const body = Buffer.from(await response.arrayBuffer())
  if (!socket.writable) return
  const headers = { ...Object.fromEntries(response.headers), 'content-length': String(body.length) }
  socket.end(Buffer.concat([Buffer.from(head(response.status, headers), 'latin1'), body]))
}

function head(status: number, headers: Record<string, string>): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`
  for (const [name, value] of Object.entries(headers)) if (name !== 'connection') text += `${name}: ${value}\r\n`
  return `${text}connection: close\r\n\r\n`
}

/** The host is whatever the client wrote, and may make no address at all; the path alone decides. */
const addressOf = ({ url = '/' }: IncomingMessage): string => `http://localhost${url.startsWith('/') ? url : '/'}`

function headersOf(req: IncomingMessage): [string, string][] {
  return Object.entries(req.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
}
