import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { Usage } from '../ir.ts'
import { addBilled, billedTier } from '../shared/billed.ts'
import { tokensIn } from '../shared/json-fields.ts'

/** Decodes usage. Returns undefined if it counts nothing. Bedrock's input count excludes the cache; the IR's total includes it. */
function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const uncached = tokensIn(value.inputTokens)
  const output = tokensIn(value.outputTokens)
  if (uncached === undefined && output === undefined) return undefined
  const read = tokensIn(value.cacheReadInputTokens)
  const write = tokensIn(value.cacheWriteInputTokens)
  const usage: Usage = {
    input: { total: (uncached ?? 0) + (read ?? 0) + (write ?? 0) },
    output: { total: output ?? 0 },
    raw: { format: 'converse', value },
  }
  put(usage.input, 'cacheRead', read)
  put(usage.input, 'cacheWrite', write)
  put(usage.input, 'cacheWrite1h', cacheWrite1hIn(value.cacheDetails))
  return usage
}

function cacheWrite1hIn(details: Json | undefined): number | undefined {
  if (!Array.isArray(details)) return undefined
  const hour = details.find((detail) => isObject(detail) && detail.ttl === '1h')
  return isObject(hour) ? tokensIn(hour.inputTokens) : undefined
}

/** Reads the usage of a response or of a stream's last event, and the tier that served the call. */
export function usageOf({ usage: value, serviceTier }: JsonObject): Usage | undefined {
  const usage = decodeUsage(value)
  const tier = billedTier(decodeTier(serviceTier))
  if (usage !== undefined && tier !== undefined) addBilled(usage, { tier })
  return usage
}

/** Returns the tier that served the call. */
export const decodeTier = (tier: Json | undefined): string | undefined =>
  isObject(tier) && typeof tier.type === 'string' ? tier.type : undefined
