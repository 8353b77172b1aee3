import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { type Canceller, createCanceller, GatewayError, type Signal, type WatchedCall } from '@modelgate/core'
import { bytesFlushed, WatchedClient } from './watched-client.ts'

/**
 * The client of one request, for adapters: reports a disconnect, and a client that does not read its response. One is allocated for
 * each request, so it is a class, and its signal is created on first use.
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

  /** Aborted when the client disconnects before the response is complete. */
  get signal(): Signal {
    this.#signal ??= this.#listen()
    return this.#signal
  }

  watchClient(stallMs: number, call: WatchedCall): void {
    this.#call = call
    // The listeners of the signal also end the watch.
    this.#signal ??= this.#listen()
    if (!this.#res.destroyed) this.watch(stallMs)
  }

  // A pipelined response has no socket until the earlier ones are sent: its client cannot receive anything yet.
  protected pendingBytes(): number {
    const { stream, socket } = this.#res
    return (stream ?? socket)?.writableLength ?? 0
  }

  protected progress(): number {
    const { stream, socket } = this.#res
    if (stream !== undefined) return -stream.writableLength
    return socket === null ? 0 : bytesFlushed(socket)
  }

  protected onStalled(stallMs: number): void {
    // Before `destroy`, so that the call ends with this reason and not with the closed connection.
    this.#call?.onClientStalled(stallMs)
    this.#res.destroy()
  }

  #listen(): Canceller {
    const req = this.#req
    const res = this.#res
    const canceller = createCanceller()
    const onClose = (): void => {
      this.unwatch()
      // HTTP/2 responses have no `writableFinished`.
      if (!(res.writableFinished ?? res.writableEnded))
        canceller.abort(new GatewayError('cancelled', 'The client disconnected before the response was complete.'))
    }
    if (res.destroyed) {
      onClose()
      return canceller
    }
    res.on('close', onClose)
    // A pipelined response has no socket until the earlier ones are sent, and emits no event if that socket closes.
    if (res.socket === null && req.httpVersionMajor === 1) {
      const { socket } = req
      socket.once('close', onClose)
      res.once('close', () => socket.off('close', onClose))
    }
    return canceller
  }
}

/** Returns a signal that is aborted when the client disconnects before the response is complete. */
export const clientSignal = (req: IncomingMessage, res: ServerResponse): Signal => new ClientConnection(req, res).signal
