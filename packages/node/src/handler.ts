import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Gateway, Transport } from '@modelgate/core'
import { NodeInbound, pathOf } from './inbound.ts'
import { sendReply } from './send-reply.ts'
import { sharedTransport } from './undici-transport.ts'

/** What the adapters for Node take. */
export interface NodeOptions {
  /** Makes the upstream calls. Default: one `undiciTransport()` shared by the whole process. */
  transport?: Transport
}

/** Answers one request. Never throws. */
export interface NodeHandler {
  /** @param url path and query to answer, where a host has taken its mount prefix off. Default `req.url`. */
  (req: IncomingMessage, res: ServerResponse, url?: string): void
  /** Whether the gateway answers this path; a query is ignored. */
  matches(req: IncomingMessage, url?: string): boolean
}

/** What every adapter for Node is made of: the way from the socket to the gateway and back, without web streams. */
export function createNodeHandler(gateway: Gateway, options: NodeOptions = {}): NodeHandler {
  const { transport = sharedTransport() } = options

  const handle = (req: IncomingMessage, res: ServerResponse, url = req.url ?? '/'): void => {
    const inbound = new NodeInbound(req, res, url)
    gateway.handle(inbound, transport).then(
      (reply) => {
        try {
          sendReply(req, res, reply)
        } catch {
          fail(req, res)
        }
      },
      () => fail(req, res),
    )
  }
  const matches = (req: IncomingMessage, url = req.url ?? '/'): boolean => {
    const mark = url.indexOf('?')
    return gateway.match(req.method ?? 'GET', pathOf(mark < 0 ? url : url.slice(0, mark))) !== null
  }
  return Object.assign(handle, { matches })
}

/** The gateway answers its own failures; this is for a reply that cannot be sent (a header with a line break, say). */
function fail(req: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent) {
    res.destroy()
    return
  }
  const body = JSON.stringify({
    error: { message: 'The gateway failed to answer.', type: 'server_error', param: null, code: null },
  })
  try {
    sendReply(req, res, { status: 500, headers: { 'content-type': 'application/json; charset=utf-8' }, body })
  } catch {
    res.destroy()
  }
}
