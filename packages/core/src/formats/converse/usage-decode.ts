import { isObject, put } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import type { Usage } from '../ir.ts'
import { tokensIn } from '../shared/json-fields.ts'

/** Reads a usage object; undefined if it counts nothing. Here input excludes the cache; in the IR the total includes it. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const fresh = tokensIn(value.inputTokens)
  const written = tokensIn(value.outputTokens)
  if (fresh === undefined && written === undefined) return undefined
  const read = tokensIn(value.cacheReadInputTokens)
  const write = tokensIn(value.cacheWriteInputTokens)
  const usage: Usage = {
    input: { total: (fresh ?? 0) + (read ?? 0) + (write ?? 0) },
    output: { total: written ?? 0 },
    raw: { format: 'converse', value },
  }
  put(usage.input, 'cacheRead', read)
  put(usage.input, 'cacheWrite', write)
  put(usage.input, 'cacheWrite1h', hourly(value.cacheDetails))
  return usage
}

function hourly(details: Json | undefined): number | undefined {
  if (!Array.isArray(details)) return undefined
  const hour = details.find((detail) => isObject(detail) && detail.ttl === '1h')
  return isObject(hour) ? tokensIn(hour.inputTokens) : undefined
}
