import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Inbound, Spool } from '@modelgate/core'
import { fileSpool } from '../body/file-spool.ts'
import { readBody, streamBody } from '../body/read-body.ts'
import { ClientConnection } from '../client/client-connection.ts'
import { countTokensInThread } from '../scheduling/tokenizer-thread.ts'
import { waitForTurn } from '../scheduling/work-queue.ts'

/**
 * Presents an `IncomingMessage` as the gateway's `Inbound`, without creating a `Request`.
 *
 * @param url path and query without the host's mount prefix
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
    const queryStart = url.indexOf('?')
    this.path = pathOf(queryStart < 0 ? url : url.slice(0, queryStart))
    this.query = queryStart < 0 ? '' : url.slice(queryStart + 1)
  }

  get origin(): string {
    return `${'encrypted' in this.#req.socket ? 'https' : 'http'}://${this.#req.headers.host ?? ''}`
  }

  header(name: string): string | undefined {
    // `read` decodes the body, so the gateway must see no content-encoding.
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
    return waitForTurn()
  }

  countTokens(texts: readonly string[]): Promise<number | undefined> {
    return countTokensInThread(texts)
  }
}

/** Returns the path of a request target. Clients that use the server as a proxy send an absolute URL: `POST http://host/v1/…`. */
export function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  const scheme = target.indexOf('://')
  if (scheme < 0) return target
  const slash = target.indexOf('/', scheme + 3)
  return slash < 0 ? '/' : target.slice(slash)
}
