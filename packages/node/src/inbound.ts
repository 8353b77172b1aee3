import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Inbound, Spool } from '@modelgate/core'
import { ClientConnection } from './client-connection.ts'
import { fileSpool } from './file-spool.ts'
import { readBody } from './read-body.ts'
import { streamBody } from './stream-body.ts'
import { countInThread } from './tokenizer-thread.ts'
import { turn } from './turn.ts'

/**
 * An `IncomingMessage` as the gateway's inner currency, without a `Request` in between.
 *
 * @param url the path and query to answer; hosts that mount the gateway under a prefix pass what remains of it.
 */
export class NodeInbound extends ClientConnection implements Inbound {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #req: IncomingMessage

  constructor(req: IncomingMessage, res: ServerResponse, url: string) {
    super(req, res)
    this.#req = req
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

  countTokens(texts: readonly string[]): Promise<number | undefined> {
    return countInThread(texts)
  }
}

/** Clients that take the server for a proxy send the whole address: `POST http://host/v1/…`. */
export function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  const scheme = target.indexOf('://')
  if (scheme < 0) return target
  const slash = target.indexOf('/', scheme + 3)
  return slash < 0 ? '/' : target.slice(slash)
}
