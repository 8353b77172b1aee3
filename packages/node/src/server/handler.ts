import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Gateway, Transport } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { sendReply } from '../response/send-reply.ts'
import { compileParser } from '../transport/compile-parser.ts'
import { sharedTransport } from '../transport/undici-transport.ts'
import { NodeInbound, pathOf } from './inbound.ts'

/** Options of the Node adapters. */
export interface NodeOptions {
  /** Sends the upstream calls. Default: one `undiciTransport()` shared by the whole process. */
  transport?: Transport
}

/** Handles one request. Never throws. */
export interface NodeHandler {
  /** @param url path and query without the host's mount prefix; default `req.url` */
  (req: IncomingMessage, res: ServerResponse, url?: string): void
  /**
   * Returns whether the gateway serves this path. A query is ignored.
   *
   * @param sharesRoot see `AdapterFunctions.match`
   */
  matches(req: IncomingMessage, url?: string, sharesRoot?: boolean): boolean
}

/** Creates the request handler of the Node adapters, which passes data between socket and gateway without web streams. */
export function createNodeHandler(gateway: Gateway, options: NodeOptions = {}): NodeHandler {
  const { transport = sharedTransport() } = options
  const adapter = adapterFunctions(gateway)
  if (options.transport === undefined) void adapter.loaded().then(compileParser)

  const handle = (req: IncomingMessage, res: ServerResponse, url = req.url ?? '/'): void => {
    const inbound = new NodeInbound(req, res, url)
    adapter.handle(inbound, transport).then(
      (reply) => {
        try {
          sendReply(req, res, reply)
        } catch {
          sendInternalError(req, res)
        }
      },
      () => sendInternalError(req, res),
    )
  }
  const matches = (req: IncomingMessage, url = req.url ?? '/', sharesRoot = false): boolean => {
    const queryStart = url.indexOf('?')
    const path = pathOf(queryStart < 0 ? url : url.slice(0, queryStart))
    return adapter.match(req.method ?? 'GET', path, sharesRoot) !== null
  }
  return Object.assign(handle, { matches })
}

/** For a reply that cannot be sent (an invalid header, for example): the gateway itself reports all other errors. */
function sendInternalError(req: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent) {
    res.destroy()
    return
  }
  const body = JSON.stringify({
    error: { message: 'The gateway failed to send a response.', type: 'server_error', param: null, code: null },
  })
  try {
    sendReply(req, res, { status: 500, headers: { 'content-type': 'application/json; charset=utf-8' }, body })
  } catch {
    res.destroy()
  }
}

/** Creates a listener for `http.createServer` that passes every request to the gateway. Unknown paths get its JSON 404. */
export function nodeListener(gateway: Gateway, options?: NodeOptions): RequestListener {
  const handle = createNodeHandler(gateway, options)
  return (req, res) => handle(req, res)
}
