import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { type Canceller, createCanceller, GatewayError, type Signal, type WatchedCall } from '@modelgate/core'
import { bytesTaken, WatchedClient } from './client-watch.ts'

/**
 * What an adapter knows of the client of one request: whether it has left, and whether it reads its response. A class, and its signal
 * made only when asked for: this is allocated for each request.
 */
export class ClientConnection extends WatchedClient {
  readonly #req: IncomingMessage
  readonly #res: ServerResponse & { readonly stream?: ServerHttp2Stream }
  #signal: Canceller | undefined
  #call: WatchedCall | undefined

  constructor(req: IncomingMessage, res: ServerResponse) {
    super()
    this.#req = req
    this.#res = res
  }

  /** Aborted when the client has left before the reply was finished. */
  get signal(): Signal {
    this.#signal ??= this.#listen()
    return this.#signal
  }

  watchClient(stallMs: number, call: WatchedCall): void {
    this.#call = call
    // What listens for the signal also ends the watch.
    this.#signal ??= this.#listen()
    if (!this.#res.destroyed) this.watch(stallMs)
  }

  // A pipelined response has no socket until those before it are sent: its client cannot take anything of it yet.
  protected unread(): number {
    const { stream, socket } = this.#res
    return (stream ?? socket)?.writableLength ?? 0
  }

  protected taken(): number {
    const { stream, socket } = this.#res
    if (stream !== undefined) return -stream.writableLength
    return socket === null ? 0 : bytesTaken(socket)
  }

  protected onStalled(stallMs: number): void {
    // First: the call ends with the reason, not with the connection's end.
    this.#call?.onClientStalled(stallMs)
    this.#res.destroy()
  }

  #listen(): Canceller {
    const req = this.#req
    const res = this.#res
    const canceller = createCanceller()
    const leave = (): void => {
      this.unwatch()
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
}

/** For adapters: aborted when the client has left before the reply was finished. */
export const clientSignal = (req: IncomingMessage, res: ServerResponse): Signal => new ClientConnection(req, res).signal
