/** Chunk boundaries of a served body: every n bytes, or at these positions. */
export type Cuts = number | readonly number[]

/** An in-process upstream that returns the same bytes for every call and records the requests. */
export interface ServedBytes {
  readonly fetch: typeof fetch
  /** Received bodies, in order. */
  readonly received: string[]
}

/** Yields the non-empty chunks of a body, in order. */
export function* cut(bytes: Uint8Array, cuts: Cuts): Generator<Uint8Array> {
  if (typeof cuts === 'number') {
    for (let at = 0; at < bytes.length; at += cuts) yield bytes.subarray(at, at + cuts)
    return
  }
  let from = 0
  for (const at of [...cuts, bytes.length]) {
    if (at > from) yield bytes.subarray(from, at)
    from = Math.max(from, at)
  }
}

/** Creates a body that is pulled chunk by chunk and may end with a broken connection. */
function bodyOf(chunks: Iterator<Uint8Array>, breaks?: Error): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = chunks.next()
        if (done !== true) controller.enqueue(value)
        else if (breaks !== undefined) controller.error(breaks)
        else controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Serves `body` byte for byte, as an event stream or as JSON. */
export function serveBytes(
  body: string | Uint8Array,
  options: { stream: boolean; cuts?: Cuts; breaks?: Error; headers?: Record<string, string>; status?: number },
): ServedBytes {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const received: string[] = []
  return {
    received,
    fetch: async (_input, init) => {
      received.push(typeof init?.body === 'string' ? init.body : new TextDecoder().decode(init?.body as Uint8Array))
      return new Response(bodyOf(cut(bytes, options.cuts ?? Math.max(1, bytes.length)), options.breaks), {
        status: options.status ?? 200,
        headers: { 'content-type': options.stream ? 'text/event-stream' : 'application/json', ...options.headers },
      })
    },
  }
}
