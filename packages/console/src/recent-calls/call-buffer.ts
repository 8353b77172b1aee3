import type { CallFilter } from './call-filter.ts'
import type { RecentCall } from './recent-call.ts'

/** A page of calls, newest first. */
export interface CallPage {
  readonly calls: readonly RecentCall[]
  /** Cursor of the next page: the id of this page's last call. Absent: there are no older calls. */
  readonly next?: string
}

/** The last calls of this process. */
export interface CallBuffer {
  /** Adds a call. Returns the one that it replaced, if any. */
  add(call: RecentCall): RecentCall | undefined
  find(requestId: string): RecentCall | undefined
  /** Returns the calls older than one of this id, newest first; none if that call is no longer stored. Default: the newest calls. */
  page(matches: CallFilter, limit: number, olderThan?: string): CallPage
}

/** Creates a ring buffer of `size` calls. */
export function createCallBuffer(size: number): CallBuffer {
  const calls: RecentCall[] = []
  /** Number of calls so far. Call n is at index n % size. */
  let count = 0

  function* newestFirst(): Generator<RecentCall> {
    for (let at = count - 1; at >= Math.max(count - size, 0); at--) {
      const call = calls[at % size]
      if (call !== undefined) yield call
    }
  }

  return {
    add(call) {
      const replaced = calls[count % size]
      calls[count % size] = call
      count++
      return replaced
    },
    find(requestId) {
      for (const call of newestFirst()) if (call.requestId === requestId) return call
      return undefined
    },
    page(matches, limit, olderThan) {
      const found: RecentCall[] = []
      let isOlder = olderThan === undefined
      for (const call of newestFirst()) {
        if (isOlder && matches(call)) {
          const last = found.at(-1)
          if (found.length === limit) return { calls: found, ...(last === undefined ? {} : { next: last.requestId }) }
          found.push(call)
        }
        isOlder ||= call.requestId === olderThan
      }
      return { calls: found }
    },
  }
}
