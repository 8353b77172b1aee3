import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodySink, CutBody, PulledBody, PulledResult } from '@modelgate/core'

/** Sends an iterable body chunk by chunk, no faster than the client reads. */
export function sendStream(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: AsyncIterable<Uint8Array>,
): void {
  const source = sourceOf(body)
  // Otherwise a body longer than its content-length would continue as the next response of the connection, and a shorter one would
  // consume the start of it. With this option Node throws, and the connection is closed.
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
  // The status is sent at once, because clients wait less long for headers than for bodies. Chunks of the same turn of the event loop
  // are sent in the same write.
  setImmediate(flushHeaders, res)
  flattenHead(res)
  const sender = new Sender(res, source)
  const cut: AsyncIterable<Uint8Array> & Partial<CutBody> = body
  if ('onCut' in cut) {
    const onCut = (): void => sender.onError()
    cut.onCut = onCut
  }
  sender.start()
}

/**
 * Saves 1.5 kB for each stream. Node concatenates a head from about forty strings, and V8 keeps them all as long as the response
 * runs. A regular expression makes V8 flatten the string; newer versions optimize simpler accesses away.
 *
 * @returns whether there is a head; without a result the test itself would be optimized away
 */
function flattenHead(res: ServerResponse & { readonly _header?: unknown }): boolean {
  const { _header: head } = res
  return typeof head === 'string' && /^HTTP/.test(head)
}

function flushHeaders(res: ServerResponse): void {
  if (!res.destroyed && !res.writableEnded) res.flushHeaders()
}

interface Source extends Pick<PulledBody, 'pull'> {
  /** Ends the body. Errors while closing are ignored. */
  close(): void
}

/** The gateway's own streams are pulled without a promise for each chunk; other iterables use their iterator. */
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
  #isClosed = false
  /** The client has not read the last chunk yet. */
  #isBlocked = false
  readonly #onDrain = (): void => {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#source.pull(this)
  }
  readonly #onClose = (): void => {
    this.#isClosed = true
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

  onResult(result: PulledResult): void {
    if (this.#isClosed) return
    try {
      if (result.done === true) {
        this.#removeListeners()
        this.#res.end()
        return
      }
      const { value } = result
      // One system call for both. A chunk alone may have to wait until the client has read it, and the end after it.
      if (result.isLast === true) {
        this.#removeListeners()
        this.#res.end(value)
        return
      }
      // Responses of some hosts (serverless-express on Lambda) return undefined and never emit `drain`.
      if (value.length > 0 && this.#res.write(value) === false) {
        this.#isBlocked = true
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
   * Errors that the gateway can send in the client's format never get here. For all others the connection is closed after the bytes
   * so far, the only end that no client takes for a complete response.
   */
  onError(): void {
    this.#removeListeners()
    if (!this.#isClosed) setImmediate(() => this.#res.destroy())
  }

  #removeListeners(): void {
    this.#res.off('close', this.#onClose).off('drain', this.#onDrain)
  }
}
