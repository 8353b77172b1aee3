import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asObject, isObject } from '../../base/json.ts'
import type { UsageNumbers } from '../../contract/script.ts'

/** Returns the fields of a request that a response repeats, with the API's defaults: all its keys, in its order. */
export function echoRequest(request: JsonObject, model: string): JsonObject {
  const reasoning = asObject(request.reasoning)
  const text = asObject(request.text)
  return {
    status: null,
    background: request.background ?? false,
    completed_at: null,
    error: null,
    frequency_penalty: request.frequency_penalty ?? 0,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    model,
    moderation: null,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: request.presence_penalty ?? 0,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? null,
    reasoning: { effort: reasoning.effort ?? null, summary: summaryOf(reasoning.summary) },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: request.service_tier ?? 'auto',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: formatOf(text.format), verbosity: text.verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: asList(request.tools).map(toolOf),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    usage: null,
    user: request.user ?? null,
    metadata: request.metadata ?? {},
  }
}

/** Replaces `auto` by the model's own kind of summary. */
const summaryOf = (summary: Json | undefined): Json => (summary === 'auto' ? 'detailed' : (summary ?? null))

function formatOf(format: Json | undefined): Json {
  if (!isObject(format)) return { type: 'text' }
  if (format.type !== 'json_schema') return format
  return { type: 'json_schema', description: null, name: null, schema: {}, ...format, strict: format.strict ?? true }
}

function toolOf(tool: Json): Json {
  if (!isObject(tool) || tool.type !== 'function') return tool
  return { type: 'function', description: null, name: null, parameters: null, ...tool, strict: tool.strict ?? true }
}

export const responseUsage = (usage: UsageNumbers): JsonObject => ({
  input_tokens: usage.input,
  input_tokens_details: {
    cached_tokens: usage.cacheRead,
    ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
  },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning },
  total_tokens: usage.input + usage.output,
})
