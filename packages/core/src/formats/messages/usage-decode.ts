import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { BillableUnits, ModelRun, Usage } from '../ir.ts'
import { addBilled, billedTier } from '../shared/billed.ts'
import { setOwn } from '../shared/json-fields.ts'

const tokenCount = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Decodes usage. Returns undefined if it counts nothing. Anthropic's input count excludes the cache; the IR's total includes it. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const output = tokenCount(value.output_tokens)
  if (tokenCount(value.input_tokens) === undefined && output === undefined) return undefined
  const usage: Usage = {
    input: inputIn(value),
    output: { total: output ?? 0 },
    raw: { format: 'messages', value },
  }
  const details = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  put(usage.output, 'reasoning', tokenCount(details.thinking_tokens))
  const units = unitsIn(value)
  const runs = runsIn(value.iterations)
  const tier = value.speed === 'fast' ? 'fast' : billedTier(value.service_tier)
  if (units !== undefined || runs !== undefined || tier !== undefined)
    addBilled(usage, {
      ...(units === undefined ? {} : { units }),
      ...(runs === undefined ? {} : { runs }),
      ...(tier === undefined ? {} : { tier }),
    })
  return usage
}

function inputIn(value: JsonObject): Usage['input'] {
  const uncached = tokenCount(value.input_tokens)
  const read = tokenCount(value.cache_read_input_tokens)
  const creation = isObject(value.cache_creation) ? value.cache_creation : {}
  const cacheWrite1h = tokenCount(creation.ephemeral_1h_input_tokens)
  const write =
    tokenCount(value.cache_creation_input_tokens) ??
    (Object.keys(creation).length === 0
      ? undefined
      : (tokenCount(creation.ephemeral_5m_input_tokens) ?? 0) + (cacheWrite1h ?? 0))
  const input: Usage['input'] = { total: (uncached ?? 0) + (read ?? 0) + (write ?? 0) }
  put(input, 'cacheRead', read)
  put(input, 'cacheWrite', write)
  put(input, 'cacheWrite1h', cacheWrite1h)
  return input
}

/** Returns the numbers of web searches, fetched pages and code executions. */
function unitsIn({ server_tool_use: tools }: JsonObject): BillableUnits | undefined {
  if (!isObject(tools)) return undefined
  const searches = tokenCount(tools.web_search_requests)
  const fetches = tokenCount(tools.web_fetch_requests)
  const executions = tokenCount(tools.code_execution_requests)
  if (!searches && !fetches && !executions) return undefined
  return { ...(searches && { searches }), ...(fetches && { fetches }), ...(executions && { executions }) }
}

/**
 * Returns the runs of models within the call. The counts of the usage itself leave out compactions and advisors, and have no place for the
 * model of a fallback; the sum of all runs is what the provider bills.
 */
function runsIn(iterations: Json | undefined): readonly ModelRun[] | undefined {
  if (!Array.isArray(iterations)) return undefined
  const runs: ModelRun[] = []
  for (const entry of iterations) {
    if (!isObject(entry)) continue
    const { model, output_tokens: output } = entry
    const run = { input: inputIn(entry), output: { total: tokenCount(output) ?? 0 } }
    runs.push(typeof model === 'string' ? { ...run, model } : run)
  }
  // One run of the call's own model is the usage itself.
  return runs.length === 0 || (runs.length === 1 && runs[0]?.model === undefined) ? undefined : runs
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
