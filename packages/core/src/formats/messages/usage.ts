import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { IsShown } from '../carries.ts'
import type { Nothing, Report, Usage } from '../ir.ts'
import { loss } from '../shared/report.ts'
import { findUnshownUsage as beside, type UsageFields } from '../shared/response-losses.ts'

/** Clients count on every number but the details; Claude Code compacts by them. */
export function encodeUsage(usage: Usage | undefined, serviceTier?: string): JsonObject {
  if (usage === undefined) {
    const unknown: JsonObject = { ...noTokens }
    put(unknown, 'service_tier', tierWord(serviceTier))
    return unknown
  }
  const { input, output, raw, ...rest } = usage
  rest satisfies Nothing
  // Which of the tokens were sounds, pictures or tool prompts has no place here; they are counted in the totals.
  const { total, cacheRead, cacheWrite, cacheWrite1h, audio: _a, image: _i, tool: _t, ...inputRest } = input
  inputRest satisfies Nothing
  const { total: written, reasoning, audio: _spoken, image: _drawn, ...outputRest } = output
  outputRest satisfies Nothing
  const own = raw?.format === 'messages' ? raw.value : undefined
  const out: JsonObject = own === undefined ? { ...noTokens } : { ...own }
  out.input_tokens = Math.max(0, total - (cacheRead ?? 0) - (cacheWrite ?? 0))
  out.output_tokens = written
  if (cacheWrite !== undefined) out.cache_creation_input_tokens = cacheWrite
  if (cacheRead !== undefined) out.cache_read_input_tokens = cacheRead
  if (cacheWrite1h !== undefined)
    out.cache_creation = {
      ...(isObject(own?.cache_creation) ? own.cache_creation : undefined),
      ephemeral_5m_input_tokens: Math.max(0, (cacheWrite ?? cacheWrite1h) - cacheWrite1h),
      ephemeral_1h_input_tokens: cacheWrite1h,
    }
  if (reasoning !== undefined)
    out.output_tokens_details = {
      ...(isObject(own?.output_tokens_details) ? own.output_tokens_details : undefined),
      thinking_tokens: reasoning,
    }
  if (own === undefined) put(out, 'service_tier', tierWord(serviceTier))
  return out
}

const noTokens = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
} as const

const tierWord = (tier: string | undefined): string | undefined =>
  tier === 'default' ? 'standard' : tier === 'priority' || tier === 'batch' ? tier : undefined

/** Reports a tier that has no word here. */
export function reportTier(tier: string | undefined, usage: Usage | undefined, report: Report): void {
  if (tier === undefined || usage?.raw?.format === 'messages' || tierWord(tier) !== undefined) return
  report.add(loss('/serviceTier', `messages has no word for the tier '${tier}'`, 'unsupported', 'note'))
}

const usageFields = {
  input_tokens: 'told',
  output_tokens: 'told',
  cache_read_input_tokens: 'usage.cacheRead',
  cache_creation_input_tokens: 'usage.cacheWrite',
  cache_creation: {
    ephemeral_5m_input_tokens: 'usage.cacheWrite',
    ephemeral_1h_input_tokens: 'usage.cacheWrite1h',
  },
  output_tokens_details: { thinking_tokens: 'usage.reasoning' },
  service_tier: 'told',
} as const satisfies UsageFields

/** Most answers say that they do not say where they were made. */
const placeless = { ...usageFields, inference_geo: 'told' } as const satisfies UsageFields

export const usageBeside = (usage: JsonObject, isShown: IsShown): string[] =>
  beside(usage, usage.inference_geo === 'not_available' ? placeless : usageFields, isShown)
