import { GatewayError } from '@modelgate/core'
import type { CallFilter } from './call-filter.ts'
import { type RecentCall, summaryOf } from './recent-call.ts'

/** Readers at the same time. */
const maxReaders = 16
/** Unread bytes of one reader. A reader that falls behind further is dropped. */
const maxUnread = 256 * 1024
/** Interval of comments that keep idle connections open through proxies. */
const heartbeatMs = 15_000

/** Readers of the live stream of calls. */
export interface LiveReaders {
  /** Sends a call to the readers that want it. */
  send(call: RecentCall): void
  /**
   * Opens a stream of server-sent events that begins with these calls.
   *
   * @throws GatewayError `rate_limited` if there are too many readers
   */
  open(matches: CallFilter, first: readonly RecentCall[]): AsyncIterable<Uint8Array>
  /** Ends all streams. */
  close(): void
}

interface Reader {
  readonly matches: CallFilter
  push(bytes: Uint8Array): void
  end(): void
}

const encoder = new TextEncoder()
const heartbeat = encoder.encode(':\n\n')

/** Encodes a call as an event. Its id is the call's. */
const eventOf = (call: RecentCall): Uint8Array => encoder.encode(`data: ${JSON.stringify(summaryOf(call))}\n\n`)

/** Creates the set of readers. Without readers a call costs one comparison, and no timer runs. */
export function createLiveReaders(): LiveReaders {
  const readers = new Set<Reader>()
  let timer: ReturnType<typeof setInterval> | undefined

  const remove = (reader: Reader): void => {
    readers.delete(reader)
    if (readers.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }

  return {
    send(call) {
      if (readers.size === 0) return
      let bytes: Uint8Array | undefined
      for (const reader of readers) {
        if (!reader.matches(call)) continue
        bytes ??= eventOf(call)
        reader.push(bytes)
      }
    },
    open(matches, first) {
      if (readers.size >= maxReaders)
        throw new GatewayError('rate_limited', `There are already ${maxReaders} readers of the live calls.`, {
          retryAfter: 30,
          headers: { 'cache-control': 'no-store' },
        })
      const { reader, body } = createReader(matches, remove)
      // A comment first: the client receives the response's headers at once.
      reader.push(heartbeat)
      for (const call of first) reader.push(eventOf(call))
      readers.add(reader)
      timer ??= setInterval(() => {
        for (const each of readers) each.push(heartbeat)
      }, heartbeatMs)
      return body
    },
    close() {
      for (const reader of [...readers]) reader.end()
    },
  }
}

/**
 * Creates a reader and its body. Not an async generator: `return` of a generator waits for a pending `next`, so a client that disconnects
 * between two calls would remain a reader.
 */
function createReader(
  matches: CallFilter,
  onEnd: (reader: Reader) => void,
): { reader: Reader; body: AsyncIterable<Uint8Array> } {
  let unread: Uint8Array[] = []
  let unreadBytes = 0
  let ended = false
  let resume: (() => void) | undefined

  const wake = (): void => {
    resume?.()
    resume = undefined
  }
  const reader: Reader = {
    matches,
    push(bytes) {
      if (ended) return
      if (unreadBytes + bytes.length > maxUnread) return reader.end()
      unread.push(bytes)
      unreadBytes += bytes.length
      wake()
    },
    end() {
      if (ended) return
      ended = true
      unread = []
      onEnd(reader)
      wake()
    },
  }
  const take = (): IteratorResult<Uint8Array> => {
    if (unread.length === 0) return { done: true, value: undefined }
    const value = unread.length === 1 ? (unread[0] as Uint8Array) : joined(unread, unreadBytes)
    unread = []
    unreadBytes = 0
    return { done: false, value }
  }
  const iterator: AsyncIterator<Uint8Array> = {
    next: async () => {
      if (unread.length === 0 && !ended)
        await new Promise<void>((resolve) => {
          resume = resolve
        })
      return take()
    },
    return: async () => {
      reader.end()
      return { done: true, value: undefined }
    },
  }
  return { reader, body: { [Symbol.asyncIterator]: () => iterator } }
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
