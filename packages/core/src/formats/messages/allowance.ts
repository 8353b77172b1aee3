import type { Allowance, QuotaState } from '../../base/errors.ts'
import { resetIn } from '../shared/allowance.ts'

/** What a caller has left, in Anthropic's headers: `anthropic-ratelimit-requests-remaining`. The reset is a point in time. */
export function encodeAllowance(allowance: Allowance, now: number): Record<string, string> {
  const { requests, tokens, inputTokens, outputTokens } = allowance
  const headers: Record<string, string> = {}
  const tell = (name: string, left: QuotaState | undefined): void => {
    if (left === undefined) return
    headers[`anthropic-ratelimit-${name}-limit`] = String(left.limit)
    headers[`anthropic-ratelimit-${name}-remaining`] = String(left.remaining)
    // Whole seconds, as theirs: rounded up, so that nobody comes too early.
    const reset = new Date(Math.ceil((now + resetIn(left)) / 1000) * 1000)
    headers[`anthropic-ratelimit-${name}-reset`] = reset.toISOString().replace('.000', '')
  }
  tell('requests', requests)
  tell('tokens', tokens)
  tell('input-tokens', inputTokens)
  tell('output-tokens', outputTokens)
  return headers
}
