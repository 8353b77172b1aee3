import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { BillableUnits, Usage } from '../ir.ts'
import { setOwn } from '../shared/json-fields.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Reads a usage object; undefined if it counts nothing. Here input excludes the cache; in the IR the total includes it. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const fresh = count(value.input_tokens)
  const written = count(value.output_tokens)
  if (fresh === undefined && written === undefined) return undefined
  const read = count(value.cache_read_input_tokens)
  const creation = isObject(value.cache_creation) ? value.cache_creation : {}
  const hour = count(creation.ephemeral_1h_input_tokens)
  const write =
    count(value.cache_creation_input_tokens) ??
    (Object.keys(creation).length === 0 ? undefined : (count(creation.ephemeral_5m_input_tokens) ?? 0) + (hour ?? 0))
  const usage: Usage = {
    input: { total: (fresh ?? 0) + (read ?? 0) + (write ?? 0) },
    output: { total: written ?? 0 },
    raw: { format: 'messages', value },
  }
  put(usage.input, 'cacheRead', read)
  put(usage.input, 'cacheWrite', write)
  put(usage.input, 'cacheWrite1h', hour)
  const details = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  put(usage.output, 'reasoning', count(details.thinking_tokens))
  return usage
}

/** Searches that the provider made for the model. */
export function unitsIn({ server_tool_use: made }: JsonObject): BillableUnits | undefined {
  const searches = isObject(made) ? count(made.web_search_requests) : undefined
  return searches === undefined || searches === 0 ? undefined : { searches }
}

/** A stream counts on: a later number replaces the earlier one, a missing or null one leaves it. */
export function mergeUsage(into: JsonObject, later: Json | undefined): void {
  if (isObject(later)) for (const [key, value] of Object.entries(later)) if (value !== null) setOwn(into, key, value)
}

/** The tier that served the call stands in the usage. */
export function decodeTier(usage: Json | undefined): string | undefined {
  const tier = isObject(usage) ? usage.service_tier : undefined
  return typeof tier !== 'string' ? undefined : tier === 'standard' ? 'default' : tier
}
