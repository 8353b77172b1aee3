import type { Matcher, RecordedRequest } from '../contract/request.ts'
import type { Script, ScriptedReply } from '../contract/script.ts'

/** Replies that a test has set: a queue of single ones, and standing ones. */
export interface Replies {
  queue(replies: readonly ScriptedReply[]): void
  /** Adds a standing reply; the returned function removes it. */
  on(matcher: Matcher, reply: ScriptedReply): () => void
  /** Returns the script for a request: from the queue first, then from the latest matching standing reply. */
  take(request: RecordedRequest): Promise<Script | undefined>
  clear(): void
}

export function createReplies(): Replies {
  const queued: ScriptedReply[] = []
  let standing: { readonly matcher: Matcher; readonly reply: ScriptedReply }[] = []
  return {
    queue: (replies) => void queued.push(...replies),
    on(matcher, reply) {
      const entry = { matcher, reply }
      standing.push(entry)
      return () => {
        standing = standing.filter((one) => one !== entry)
      }
    },
    async take(request) {
      const reply = queued.shift() ?? standing.findLast((entry) => matches(entry.matcher, request))?.reply
      return typeof reply === 'function' ? await reply(request) : reply
    },
    clear() {
      queued.length = 0
      standing = []
    },
  }
}

function matches(matcher: Matcher, request: RecordedRequest): boolean {
  if (typeof matcher === 'function') return matcher(request)
  return (
    (matcher.format === undefined || matcher.format === request.format) &&
    (matcher.operation === undefined || matcher.operation === request.operation) &&
    (matcher.model === undefined || matcher.model === request.model) &&
    (matcher.stream === undefined || matcher.stream === request.stream) &&
    (matcher.text === undefined || request.bodyText.includes(matcher.text))
  )
}
