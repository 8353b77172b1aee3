import type { Allowance, QuotaState } from '../../base/errors.ts'

/** What a caller has left, in the headers that most clients read: `x-ratelimit-remaining-requests`. */
export function rateLimitHeaders({ requests, tokens, inputTokens, outputTokens }: Allowance): Record<string, string> {
  const headers: Record<string, string> = {}
  const tell = (name: string, left: QuotaState | undefined): void => {
    if (left === undefined) return
    headers[`x-ratelimit-limit-${name}`] = String(left.limit)
    headers[`x-ratelimit-remaining-${name}`] = String(left.remaining)
    headers[`x-ratelimit-reset-${name}`] = duration(resetIn(left))
  }
  tell('requests', requests)
  tell('tokens', tokens)
  tell('input-tokens', inputTokens)
  tell('output-tokens', outputTokens)
  return headers
}

/** A plugin's numbers may be any. */
const longestMs = 1e12
export const resetIn = ({ resetMs }: QuotaState): number => (resetMs >= 0 ? Math.min(resetMs, longestMs) : 0)

/** `120ms`, `1.5s`, `6m0s`, `2h30m0s`. */
function duration(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms))
  if (whole < 1000) return `${whole}ms`
  const seconds = whole / 1000
  if (seconds < 60) return `${seconds}s`
  const rounded = Math.ceil(seconds)
  const hours = Math.floor(rounded / 3600)
  const minutes = Math.floor((rounded % 3600) / 60)
  return `${hours === 0 ? '' : `${hours}h`}${minutes}m${rounded % 60}s`
}
