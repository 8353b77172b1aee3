import type { IncomingMessage, ServerResponse } from 'node:http'
import { createCanceller, GatewayError, type Inbound, type Signal, type Spool } from '@modelgate/core'
import { fileSpool } from './file-spool.ts'
import { readBody } from './read-body.ts'
import { streamBody } from './stream-body.ts'
import { turn } from './turn.ts'

/**
 * An `IncomingMessage` as the gateway's inner currency, without a `Request` in between. A class, and its signal made
 * only when asked for: this is allocated for each request.
 *
 * @param url the path and query to answer; hosts that mount the gateway under a prefix pass what remains of it.
 */
export class NodeInbound implements Inbound {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  #signal: Signal | undefined

  constructor(req: IncomingMessage, res: ServerResponse, url: string) {
    this.#req = req
    this.#res = res
    this.method = req.method ?? 'GET'
    const mark = url.indexOf('?')
    this.path = pathOf(mark < 0 ? url : url.slice(0, mark))
    this.query = mark < 0 ? '' : url.slice(mark + 1)
  }

  header(name: string): string | undefined {
    // `read` undoes the content-encoding, so for the gateway there is none.
    if (name === 'content-encoding') return undefined
    const value = this.#req.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  read(limit: number): Promise<Uint8Array> {
    return readBody(this.#req, limit)
  }

  stream(limit: number): AsyncIterable<Uint8Array> {
    return streamBody(this.#req, limit)
  }

  openSpool(): Spool {
    return fileSpool()
  }

  turn(): Promise<void> {
    return turn()
  }

  get signal(): Signal {
    this.#signal ??= clientSignal(this.#req, this.#res)
    return this.#signal
  }
}

/** For adapters: aborted when the client has left before the reply was finished. */
export function clientSignal(req: IncomingMessage, res: ServerResponse): Signal {
  const canceller = createCanceller()
  const leave = (): void => {
    // HTTP/2 responses do not know `writableFinished`.
    if (!(res.writableFinished ?? res.writableEnded))
      canceller.abort(new GatewayError('cancelled', 'The client left before the reply was finished.'))
  }
  if (res.destroyed) {
    leave()
    return canceller
  }
  res.on('close', leave)
  // A pipelined response has no socket until those before it are done, and is not told if that socket dies.
  if (res.socket === null && req.httpVersionMajor === 1) {
    const { socket } = req
    socket.once('close', leave)
    res.once('close', () => socket.off('close', leave))
  }
  return canceller
}

/** Clients that take the server for a proxy send the whole address: `POST http://host/v1/…`. */
export function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  const scheme = target.indexOf('://')
  if (scheme < 0) return target
  const slash = target.indexOf('/', scheme + 3)
  return slash < 0 ? '/' : target.slice(slash)
}
