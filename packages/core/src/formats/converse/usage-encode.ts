import type { JsonObject } from '../../base/json/json.ts'
import type { Nothing, Usage } from '../ir.ts'

/** Encodes usage. Clients require the three counts. The input count excludes the cache, and the total includes it. */
export function encodeUsage(usage: Usage | undefined): JsonObject {
  if (usage === undefined) return { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  const { input, output, raw, billed: _billed, ...rest } = usage
  rest satisfies Nothing
  // Converse has no counts of reasoning, audio, images and tools. The totals include them.
  const {
    total,
    cacheRead,
    cacheWrite,
    cacheWrite1h,
    cacheWrite12h: _long,
    audio: _a,
    image: _i,
    tool: _t,
    ...inputRest
  } = input
  inputRest satisfies Nothing
  const { total: outputTotal, reasoning: _r, audio: _spoken, image: _drawn, ...outputRest } = output
  outputRest satisfies Nothing
  const out: JsonObject = { ...(raw?.format === 'converse' ? raw.value : {}) }
  out.inputTokens = Math.max(0, total - (cacheRead ?? 0) - (cacheWrite ?? 0))
  out.outputTokens = outputTotal
  out.totalTokens = total + outputTotal
  if (cacheRead !== undefined) out.cacheReadInputTokens = cacheRead
  if (cacheWrite !== undefined) out.cacheWriteInputTokens = cacheWrite
  if (cacheWrite1h !== undefined && !Array.isArray(out.cacheDetails))
    out.cacheDetails = [
      { ttl: '1h', inputTokens: cacheWrite1h },
      { ttl: '5m', inputTokens: Math.max(0, (cacheWrite ?? cacheWrite1h) - cacheWrite1h) },
    ].filter(({ inputTokens }) => inputTokens > 0)
  return out
}
