import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { BillableUnits, ModelRun, Usage } from '../ir.ts'
import { addBilled, billedTier } from '../shared/billed.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Decodes usage. Returns undefined without counts. Totals are inclusive, as in the IR: cached ⊂ input, reasoning ⊂ output. */
function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = count(value.input_tokens)
  const output = count(value.output_tokens)
  if (input === undefined && output === undefined) return undefined
  const read = isObject(value.input_tokens_details) ? value.input_tokens_details : {}
  const written = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  // More cached than input tokens: this server counts them separately.
  const cached = count(read.cached_tokens) ?? 0
  const usage: Usage = {
    input: { total: cached > (input ?? 0) ? (input ?? 0) + cached : (input ?? 0) },
    output: { total: output ?? 0 },
    raw: { format: 'responses', value },
  }
  put(usage.input, 'cacheRead', count(read.cached_tokens))
  put(usage.input, 'cacheWrite', count(read.cache_write_tokens))
  const written12h = isObject(read.cache_write_tokens_details)
    ? read.cache_write_tokens_details.ttl_12h_tokens
    : undefined
  put(usage.input, 'cacheWrite12h', count(written12h))
  put(usage.input, 'audio', count(read.audio_tokens))
  put(usage.input, 'image', count(read.image_tokens))
  put(usage.output, 'reasoning', count(written.reasoning_tokens))
  put(usage.output, 'audio', count(written.audio_tokens))
  put(usage.output, 'image', count(written.image_tokens))
  return usage
}

/** Reads the usage of a response, and what the provider bills besides its tokens. */
export function usageOf(response: JsonObject): Usage | undefined {
  const usage = decodeUsage(response.usage)
  if (usage === undefined) return undefined
  const units = unitsIn(response)
  const drawing = drawingIn(response)
  const tier = billedTier(response.service_tier)
  if (units !== undefined) addBilled(usage, { units })
  if (drawing !== undefined) addBilled(usage, { runs: [{ input: usage.input, output: usage.output }, drawing] })
  if (tier !== undefined) addBilled(usage, { tier })
  return usage
}

/** Returns the numbers of searches and code executions. xAI counts the calls of its tools in the usage, and only those that it bills. */
function unitsIn(response: JsonObject): BillableUnits | undefined {
  const counts = isObject(response.usage) ? response.usage.server_side_tool_usage_details : undefined
  const searches = isObject(counts)
    ? (count(counts.web_search_calls) ?? 0) + (count(counts.x_search_calls) ?? 0)
    : searchesIn(response)
  const executions = isObject(counts) ? (count(counts.code_interpreter_calls) ?? 0) : 0
  if (searches === 0 && executions === 0) return undefined
  return { ...(searches > 0 && { searches }), ...(executions > 0 && { executions }) }
}

/**
 * Returns the number of searches that the provider made for the model. A server that does not count them is charged for each call that searched;
 * calls that open a page, or find a text in it, are free.
 */
function searchesIn({ tool_usage: tools, output }: JsonObject): number {
  const search = isObject(tools) && isObject(tools.web_search) ? tools.web_search : {}
  return count(search.num_requests) ?? (Array.isArray(output) ? output.filter((item) => isSearch(item)).length : 0)
}

const isSearch = (item: Json): boolean => {
  if (!isObject(item) || item.type !== 'web_search_call') return false
  return !isObject(item.action) || item.action.type === undefined || item.action.type === 'search'
}

/** Returns the tokens of generated images, which another model counts. The tool in the response names it. */
function drawingIn({ tool_usage: tools, tools: listed }: JsonObject): ModelRun | undefined {
  const drawn = isObject(tools) ? decodeUsage(tools.image_gen) : undefined
  if (drawn === undefined || drawn.input.total + drawn.output.total === 0) return undefined
  const tool = Array.isArray(listed)
    ? listed.find((one) => isObject(one) && one.type === 'image_generation')
    : undefined
  const model = isObject(tool) && typeof tool.model === 'string' ? tool.model : 'image_generation'
  return { model, input: drawn.input, output: drawn.output }
}
