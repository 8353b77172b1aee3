import { GatewayError, type Inbound, type Signal, type Spool, toInbound, type WatchedCall } from '@modelgate/core'
import { fileSpool } from '@modelgate/node'
import { ClientConnection, countTokensInThread, readWithMinimumRate, waitForTurn, withMinimumRate } from '@modelgate/node/adapter'
import type { Context } from 'hono'

/** Node's own objects, where @hono/node-server has made the request of them. */
export type NodeHost = ConstructorParameters<typeof ClientConnection>

/**
 * Hono's request as the gateway's inner currency. Read through Hono and its `Request`, so that what middlewares before us have
 * changed in it holds: replaced headers, a body that was read or replaced. But what makes a `Request` dear on Node is not
 * touched unless it must be: its signal, and its body as a web stream.
 */
export class HonoInbound implements Inbound {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #c: Context
  readonly #host: NodeHost | undefined
  readonly #client: ClientConnection | undefined
  readonly watchClient?: (stallMs: number, call: WatchedCall) => void

  /** @param host whose connection is watched in place of the request's signal */
  constructor(c: Context, path: string, query: string, host: NodeHost | undefined) {
    this.#c = c
    this.#host = host
    if (host !== undefined) {
      const client = new ClientConnection(...host)
      this.#client = client
      this.watchClient = (stallMs, call) => client.watchClient(stallMs, call)
    }
    this.method = c.req.raw.method
    this.path = path
    this.query = query
  }

  header(name: string): string | undefined {
    return this.#c.req.raw.headers.get(name) ?? undefined
  }

  read(limit: number): Promise<Uint8Array> {
    // The web's streams know no clients that are too slow.
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
    const kept = raw.bodyUsed
    if (!kept && !this.#isBounded(limit)) return await toInbound(raw).read(limit)
    let bytes: Uint8Array
    try {
      bytes = new Uint8Array(await (kept ? req : raw).arrayBuffer())
    } catch (cause) {
      throw kept ? lost(cause) : new GatewayError('cancelled', 'The request body broke off.', { cause })
    }
    if (bytes.length > limit)
      throw new GatewayError('request_too_large', `The request body is larger than the limit of ${limit} bytes.`)
    return bytes
  }

  get signal(): Signal {
    return this.#client?.signal ?? this.#c.req.raw.signal
  }

  /** Whether the body may be taken whole without a look at it as it comes: it says its length, and is not compressed. */
  #isBounded(limit: number): boolean {
    const announced = this.header('content-length')
    if (announced === undefined || Number(announced) > limit) return false
    return this.header('transfer-encoding') === undefined && this.header('content-encoding') === undefined
  }
}

const lost = (cause: unknown): GatewayError =>
  new GatewayError('internal', 'Something before the gateway read the request body and did not keep it.', { cause })
