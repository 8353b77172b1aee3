import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { UsageFields } from '../capabilities.ts'
import type { Nothing, Report, Usage } from '../ir.ts'
import { loss } from '../shared/report.ts'

/** Encodes usage. Clients require every count except the details; Claude Code decides by them when to compact. */
export function encodeUsage(usage: Usage | undefined, serviceTier?: string): JsonObject {
  if (usage === undefined) {
    const unknown: JsonObject = { ...noTokens }
    put(unknown, 'service_tier', encodeTier(serviceTier))
    return unknown
  }
  const { input, output, raw, billed: _billed, ...rest } = usage
  rest satisfies Nothing
  // Messages has no counts of audio, image and tool prompt tokens. The totals include them.
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
  const { total: outputTotal, reasoning, audio: _spoken, image: _drawn, ...outputRest } = output
  outputRest satisfies Nothing
  const original = raw?.format === 'messages' ? raw.value : undefined
  const out: JsonObject = original === undefined ? { ...noTokens } : { ...original }
  out.input_tokens = Math.max(0, total - (cacheRead ?? 0) - (cacheWrite ?? 0))
  out.output_tokens = outputTotal
  if (cacheWrite !== undefined) out.cache_creation_input_tokens = cacheWrite
  if (cacheRead !== undefined) out.cache_read_input_tokens = cacheRead
  if (cacheWrite1h !== undefined)
    out.cache_creation = {
      ...(isObject(original?.cache_creation) ? original.cache_creation : undefined),
      ephemeral_5m_input_tokens: Math.max(0, (cacheWrite ?? cacheWrite1h) - cacheWrite1h),
      ephemeral_1h_input_tokens: cacheWrite1h,
    }
  if (reasoning !== undefined)
    out.output_tokens_details = {
      ...(isObject(original?.output_tokens_details) ? original.output_tokens_details : undefined),
      thinking_tokens: reasoning,
    }
  if (original === undefined) put(out, 'service_tier', encodeTier(serviceTier))
  return out
}

const noTokens = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
} as const

const encodeTier = (tier: string | undefined): string | undefined =>
  tier === 'default' ? 'standard' : tier === 'priority' || tier === 'batch' ? tier : undefined

/** Reports a tier that has no name in messages. */
export function reportTier(tier: string | undefined, usage: Usage | undefined, report: Report): void {
  if (tier === undefined || usage?.raw?.format === 'messages' || encodeTier(tier) !== undefined) return
  report.add(loss('/serviceTier', `messages has no service tier '${tier}'`, 'unsupported', 'note'))
}

export const usageFields = {
  input_tokens: 'shown',
  output_tokens: 'shown',
  cache_read_input_tokens: 'usage.cacheRead',
  cache_creation_input_tokens: 'usage.cacheWrite',
  cache_creation: {
    ephemeral_5m_input_tokens: 'usage.cacheWrite',
    ephemeral_1h_input_tokens: 'usage.cacheWrite1h',
  },
  output_tokens_details: { thinking_tokens: 'usage.reasoning' },
  service_tier: 'shown',
  // Most responses state that their location is not available.
  inference_geo: { uncounted: 'not_available' },
} as const satisfies UsageFields
