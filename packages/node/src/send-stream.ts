import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodySink, CutBody, PulledBody } from '@modelgate/core'

/** Sends an iterable body: each chunk as it comes, none before the client has taken the last ones. */
export function sendStream(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: AsyncIterable<Uint8Array>,
): void {
  const source = sourceOf(body)
  // A body that is longer than its content-length would go on as the next response of the connection, and a shorter one would take
  // the beginning of that: Node then throws, and the connection is broken.
  res.strictContentLength = true
  try {
    res.writeHead(status, headers)
  } catch (error) {
    source.close()
    throw error
  }
  if (req.method === 'HEAD' || res.destroyed) {
    source.close()
    res.end()
    return
  }
  // The status leaves at once: clients give up on silent headers long before they give up on silent bodies. But what is
  // here in the same turn of the loop goes along in one write.
  setImmediate(flushHeaders, res)
  flatten(res)
  const sender = new Sender(res, source)
  const cut: AsyncIterable<Uint8Array> & Partial<CutBody> = body
  if ('onCut' in cut) cut.onCut = () => sender.onError()
  sender.start()
}

/**
 * Node puts a head together from some forty pieces, keeps them all as long as the answer runs, and each collection walks through
 * them: a kilobyte and a half a stream. A regular expression makes V8 put them together; what merely looks at a character is optimized
 * away on newer versions.
 *
 * @returns whether there was one; without a result it would be optimized away, too
 */
function flatten(res: ServerResponse & { readonly _header?: unknown }): boolean {
  const { _header: head } = res
  return typeof head === 'string' && /^HTTP/.test(head)
}

function flushHeaders(res: ServerResponse): void {
  if (!res.destroyed && !res.writableEnded) res.flushHeaders()
}

interface Source extends Pick<PulledBody, 'pull'> {
  /** Nothing more is wanted. A body that fails while being closed has nothing left to say. */
  close(): void
}

/** The gateway's own streams are pulled without a promise for each chunk, others as iterables are. */
function sourceOf(body: AsyncIterable<Uint8Array> & Partial<Pick<PulledBody, 'pull'>>): Source {
  const iterator = body[Symbol.asyncIterator]()
  const close = (): void => {
    iterator.return?.().catch(() => {})
  }
  if (body.pull !== undefined) return { pull: (sink) => body.pull?.(sink), close }
  const pull = (sink: BodySink): void => {
    iterator.next().then(
      (result) => sink.onResult(result),
      (error: unknown) => sink.onError(error),
    )
  }
  return { pull, close }
}

class Sender implements BodySink {
  readonly #res: ServerResponse
  readonly #source: Source
  #left = false
  /** The client has not taken the last chunk yet. */
  #full = false
  readonly #onDrain = (): void => {
    if (!this.#full) return
    this.#full = false
    this.#source.pull(this)
  }
  readonly #onClose = (): void => {
    this.#left = true
    this.#source.close()
  }

  constructor(res: ServerResponse, source: Source) {
    this.#res = res
    this.#source = source
  }

  start(): void {
    this.#res.on('close', this.#onClose).on('drain', this.#onDrain)
    this.#source.pull(this)
  }

  onResult({ done, value }: IteratorResult<Uint8Array>): void {
    if (this.#left) return
    try {
      if (done === true) {
        this.#forget()
        this.#res.end()
        return
      }
      // Responses of other hosts (serverless-express on Lambda) return undefined, and never drain.
      if (value.length > 0 && this.#res.write(value) === false) {
        this.#full = true
        return
      }
    } catch {
      this.onError()
      this.#source.close()
      return
    }
    this.#source.pull(this)
  }

  /**
   * The gateway tells its clients what went wrong in their dialect. What still fails here is told the only way that no client
   * takes for a finished answer: the connection breaks, once the bytes before have left.
   */
  onError(): void {
    this.#forget()
    if (!this.#left) setImmediate(() => this.#res.destroy())
  }

  #forget(): void {
    this.#res.off('close', this.#onClose).off('drain', this.#onDrain)
  }
}
