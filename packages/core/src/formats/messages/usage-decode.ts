import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { BillableUnits, Usage } from '../ir.ts'
import { setOwn } from '../shared/json-fields.ts'

const tokenCount = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Decodes usage. Returns undefined if it counts nothing. Anthropic's input count excludes the cache; the IR's total includes it. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const uncached = tokenCount(value.input_tokens)
  const output = tokenCount(value.output_tokens)
  if (uncached === undefined && output === undefined) return undefined
  const read = tokenCount(value.cache_read_input_tokens)
  const creation = isObject(value.cache_creation) ? value.cache_creation : {}
  const cacheWrite1h = tokenCount(creation.ephemeral_1h_input_tokens)
  const write =
    tokenCount(value.cache_creation_input_tokens) ??
    (Object.keys(creation).length === 0
      ? undefined
      : (tokenCount(creation.ephemeral_5m_input_tokens) ?? 0) + (cacheWrite1h ?? 0))
  const usage: Usage = {
    input: { total: (uncached ?? 0) + (read ?? 0) + (write ?? 0) },
    output: { total: output ?? 0 },
    raw: { format: 'messages', value },
  }
  put(usage.input, 'cacheRead', read)
  put(usage.input, 'cacheWrite', write)
  put(usage.input, 'cacheWrite1h', cacheWrite1h)
  const details = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  put(usage.output, 'reasoning', tokenCount(details.thinking_tokens))
  return usage
}

/** Returns the number of web searches that the provider made for the model. */
export function unitsIn({ server_tool_use: serverToolUse }: JsonObject): BillableUnits | undefined {
  const searches = isObject(serverToolUse) ? tokenCount(serverToolUse.web_search_requests) : undefined
  return searches === undefined || searches === 0 ? undefined : { searches }
}

/** Merges the cumulative usage of a stream: a later number replaces the earlier one; a missing or null one does not. */
export function mergeUsage(into: JsonObject, later: Json | undefined): void {
  if (isObject(later)) for (const [key, value] of Object.entries(later)) if (value !== null) setOwn(into, key, value)
}

/** Returns the tier that served the call. Anthropic sends it in the usage. */
export function decodeTier(usage: Json | undefined): string | undefined {
  const tier = isObject(usage) ? usage.service_tier : undefined
  return typeof tier !== 'string' ? undefined : tier === 'standard' ? 'default' : tier
}
