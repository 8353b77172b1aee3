import { GatewayError, type Inbound, type Signal, type Spool, toInbound, type WatchedCall } from '@modelgate/core'
import { fileSpool } from '@modelgate/node'
import {
  ClientConnection,
  countTokensInThread,
  readWithMinimumRate,
  waitForTurn,
  withMinimumRate,
} from '@modelgate/node/adapter'
import type { Context } from 'hono'

/** Node's request and response below a request of @hono/node-server. */
export type NodeHost = ConstructorParameters<typeof ClientConnection>

/**
 * Presents Hono's request as the gateway's `Inbound`. It is read through Hono and its `Request`, so that changes of earlier
 * middleware hold: replaced headers, a body that was read or replaced. The signal and the body stream of a `Request` are expensive on
 * Node, and are used only when necessary.
 */
export class HonoInbound implements Inbound {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #c: Context
  readonly #host: NodeHost | undefined
  readonly #client: ClientConnection | undefined
  readonly watchClient?: (stallMs: number, call: WatchedCall) => void

  /** @param host provides the connection to watch instead of the request's signal */
  constructor(c: Context, path: string, query: string, host: NodeHost | undefined) {
    this.#c = c
    this.#host = host
    if (host !== undefined) {
      const client = new ClientConnection(...host)
      this.#client = client
      const watchClient = (stallMs: number, call: WatchedCall): void => client.watchClient(stallMs, call)
      this.watchClient = watchClient
    }
    this.method = c.req.raw.method
    this.path = path
    this.query = query
  }

  get origin(): string {
    return new URL(this.#c.req.raw.url).origin
  }

  header(name: string): string | undefined {
    return this.#c.req.raw.headers.get(name) ?? undefined
  }

  read(limit: number): Promise<Uint8Array> {
    // Web streams have no minimum rate.
    const reading = this.#read(limit)
    return this.#host === undefined ? reading : readWithMinimumRate(this.#host[0], reading)
  }

  async *stream(limit: number): AsyncGenerator<Uint8Array, undefined> {
    const { raw } = this.#c.req
    if (raw.bodyUsed) yield await this.read(limit)
    else {
      const chunks = toInbound(raw).stream?.(limit)[Symbol.asyncIterator]()
      if (chunks !== undefined) yield* withMinimumRate(chunks)
    }
  }

  openSpool(): Spool {
    return fileSpool()
  }

  turn(): Promise<void> {
    return waitForTurn()
  }

  countTokens(texts: readonly string[]): Promise<number | undefined> {
    return countTokensInThread(texts)
  }

  async #read(limit: number): Promise<Uint8Array> {
    const { req } = this.#c
    const { raw } = req
    const isRead = raw.bodyUsed
    if (!isRead && !this.#isSizeKnown(limit)) return await toInbound(raw).read(limit)
    let bytes: Uint8Array
    try {
      bytes = new Uint8Array(await (isRead ? req : raw).arrayBuffer())
    } catch (cause) {
      throw isRead
        ? notKept(cause)
        : new GatewayError('cancelled', 'The connection closed before the request body was complete.', { cause })
    }
    if (bytes.length > limit)
      throw new GatewayError('request_too_large', `The request body is larger than the limit of ${limit} bytes.`)
    return bytes
  }

  get signal(): Signal {
    return this.#client?.signal ?? this.#c.req.raw.signal
  }

  /** True if the body can be read at once, because its length is declared and it is not compressed. */
  #isSizeKnown(limit: number): boolean {
    const contentLength = this.header('content-length')
    if (contentLength === undefined || Number(contentLength) > limit) return false
    return this.header('transfer-encoding') === undefined && this.header('content-encoding') === undefined
  }
}

const notKept = (cause: unknown): GatewayError =>
  new GatewayError('internal', 'Middleware in front of the gateway read the request body and did not keep it.', {
    cause,
  })
