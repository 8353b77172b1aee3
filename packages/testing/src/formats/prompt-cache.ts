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

/** Blocks before a mark in which Anthropic looks for the end of an earlier prefix. */
const lookback = 20

/**
 * Creates a cache of prompt prefixes per account and model. Prefixes are read automatically, or only near the request's cache marks; with
 * marks, writes are counted too.
 */
export function createPromptCache(minTokens: number): {
  take(prompt: Prompt, unasked: boolean, account: string): InputUsage
  clear(): void
} {
  const known = new Set<string>()
  return {
    take(prompt, unasked, account) {
      let chain = hashText(account + prompt.model)
      let total = 0
      let read = 0
      let lastMark = 0
      let hourMark = 0
      const writes: string[] = []
      /** Ends of known prefixes: the number of the segment, and the tokens up to it. */
      const ends: { index: number; tokens: number }[] = []
      for (const [index, segment] of prompt.segments.entries()) {
        chain = hashText(chain + segment.text)
        total += segment.tokens
        if (total < minTokens) continue
        if (known.has(chain)) ends.push({ index, tokens: total })
        if (!segment.mark) continue
        const end = ends.at(-1)
        if (end !== undefined && index - end.index < lookback) read = Math.max(read, end.tokens)
        if (end?.index !== index) writes.push(chain)
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
