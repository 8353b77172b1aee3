import type { Allowance, QuotaState } from '../../base/errors.ts'

/** Encodes the caller's remaining limits as OpenAI's headers, such as `x-ratelimit-remaining-requests`. */
export function rateLimitHeaders({ requests, tokens, inputTokens, outputTokens }: Allowance): Record<string, string> {
  const headers: Record<string, string> = {}
  const add = (name: string, quota: QuotaState | undefined): void => {
    if (quota === undefined) return
    headers[`x-ratelimit-limit-${name}`] = String(quota.limit)
    headers[`x-ratelimit-remaining-${name}`] = String(quota.remaining)
    headers[`x-ratelimit-reset-${name}`] = duration(resetIn(quota))
  }
  add('requests', requests)
  add('tokens', tokens)
  add('input-tokens', inputTokens)
  add('output-tokens', outputTokens)
  return headers
}

/** Bounds the numbers of a plugin. */
const longestMs = 1e12
/** Returns the milliseconds until a quota resets. */
export const resetIn = ({ resetMs }: QuotaState): number => (resetMs >= 0 ? Math.min(resetMs, longestMs) : 0)

/** Formats a duration as OpenAI does: `120ms`, `1.5s`, `6m0s`, `2h30m0s`. */
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
