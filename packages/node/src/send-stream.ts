import type { IncomingMessage, ServerResponse } from 'node:http'

/** Sends an iterable body: each chunk as it comes, none before the client has taken the last ones. */
export function sendStream(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: AsyncIterable<Uint8Array>,
): void {
  const iterator = body[Symbol.asyncIterator]()
  try {
    res.writeHead(status, headers)
  } catch (error) {
    close(iterator)
    throw error
  }
  if (req.method === 'HEAD' || res.destroyed) {
    close(iterator)
    res.end()
    return
  }
  // The status leaves at once: clients give up on silent headers long before they give up on silent bodies. But what is
  // here in the same turn of the loop goes along in one write.
  setImmediate(flushHeaders, res)
  void pump(res, iterator)
}

function flushHeaders(res: ServerResponse): void {
  if (!res.destroyed && !res.writableEnded) res.flushHeaders()
}

async function pump(res: ServerResponse, iterator: AsyncIterator<Uint8Array>): Promise<void> {
  let left = false
  let wake: (() => void) | undefined
  const onDrain = (): void => wake?.()
  const onClose = (): void => {
    left = true
    close(iterator)
    wake?.()
  }
  const forget = (): void => {
    res.off('close', onClose).off('drain', onDrain)
  }
  res.on('close', onClose).on('drain', onDrain)
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (left) return
      if (done === true) break
      if (value.length > 0 && !res.write(value)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        wake = undefined
        if (left) return
      }
    }
    forget()
    res.end()
  } catch {
    // The gateway tells its clients what went wrong in their dialect. What still throws here is told the only way that
    // no client takes for a finished answer: the connection breaks, once the bytes before have left.
    forget()
    if (!left) setImmediate(() => res.destroy())
  }
}

/** An iterator that fails while being closed has nothing left to say. */
function close(iterator: AsyncIterator<Uint8Array>): void {
  iterator.return?.().catch(() => {})
}
