import { hashText } from '../base/random.ts'
import type { Prompt } from '../contract/prompt.ts'

/** Input tokens of a request, including cached parts. */
export interface InputUsage {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly cacheWrite1h: number
}

/** Prefixes before the cache starts over: a fake in a long-running demo must not grow. */
const capacity = 10_000

/**
 * Creates a cache of prompt prefixes per model. Prefixes are read automatically, or only at the request's cache marks; with
 * marks, writes are counted too.
 */
export function createPromptCache(minTokens: number): {
  take(prompt: Prompt, unasked: boolean): InputUsage
  clear(): void
} {
  const known = new Set<string>()
  return {
    take(prompt, unasked) {
      let chain = hashText(prompt.model)
      let total = 0
      let read = 0
      let lastMark = 0
      let hourMark = 0
      const writes: string[] = []
      for (const segment of prompt.segments) {
        chain = hashText(chain + segment.text)
        total += segment.tokens
        if (!segment.mark || total < minTokens) continue
        if (known.has(chain)) read = total
        else writes.push(chain)
        lastMark = total
        if (segment.mark === '1h') hourMark = total
      }
      if (known.size > capacity) known.clear()
      for (const hash of writes) known.add(hash)
      if (unasked) {
        // A prompt is never cached whole: its last message is always processed.
        const last = prompt.segments.at(-1)?.tokens ?? 0
        return { input: total, cacheRead: Math.min(read, total - last), cacheWrite: 0, cacheWrite1h: 0 }
      }
      return {
        input: total,
        cacheRead: read,
        cacheWrite: Math.max(0, lastMark - read),
        cacheWrite1h: Math.max(0, hourMark - read),
      }
    },
    clear: () => known.clear(),
  }
}
