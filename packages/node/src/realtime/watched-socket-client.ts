import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { bytesFlushed, WatchedClient } from '../client/watched-client.ts'

/** Consecutive pings without any message from a side before its socket is closed. */
export const maxUnansweredPings = 4

/** Detects a client that does not read the messages of its WebSocket. */
export class WatchedSocketClient extends WatchedClient {
  readonly #client: WebSocket
  readonly #connection: Duplex
  readonly #onStalled: () => void

  constructor(client: WebSocket, connection: Duplex, stallMs: number, stalled: () => void) {
    super()
    this.#client = client
    this.#connection = connection
    this.#onStalled = stalled
    this.watch(stallMs)
  }

  stop(): void {
    this.unwatch()
  }

  protected pendingBytes(): number {
    return this.#client.bufferedAmount
  }

  protected progress(): number {
    return this.#connection instanceof Socket ? bytesFlushed(this.#connection) : -this.#client.bufferedAmount
  }

  protected onStalled(): void {
    this.#onStalled()
  }
}
