import type { JsonObject } from '../../base/json/json.ts'
import type { Cost, FinishEvent } from '../../config/finish-event.ts'

/** The currency of OpenRouter's costs. */
const currency = 'USD'

/** Fields that the format requires, and about which the gateway knows nothing. */
const unknownFields: JsonObject = {
  app_id: null,
  cache_discount: null,
  // Required to be a text or a boolean.
  data_region: 'global',
  external_user: null,
  http_referer: null,
  is_byok: false,
  moderation_latency: null,
  native_tokens_completion_images: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_media_completion: null,
  num_media_prompt: null,
  num_search_results: null,
  origin: '',
  preset_id: null,
  provider_responses: null,
  response_cache_source_id: null,
  router: null,
  session_id: null,
  upstream_id: null,
  upstream_inference_cost: null,
  user_agent: null,
  web_search_engine: null,
  workspace_id: null,
}

/**
 * Finish reasons in OpenRouter's words: those of a response that passed unchanged, in its format, and of a translated one, in the gateway's
 * own. Left out: `completed` of responses, which also ends with tool calls.
 */
const finishReasons: { readonly [reason: string]: string } = {
  stop: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  model_context_window_exceeded: 'length',
  'context-length': 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  'tool-calls': 'tool_calls',
  content_filter: 'content_filter',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
}

/** Returns the known fields of a generation, as OpenRouter calls the record of a call. It has no `total_cost` if the cost in US dollars is unknown. */
export function toGeneration(id: string, event: FinishEvent): JsonObject {
  const { requestId, model, upstream, usage, cost, finish, lane, tier, stream, outcome, durationMs } = event
  const responding = event.attempts.find(({ error }) => error === undefined)
  const prompt = usage?.input.total ?? null
  const completion = usage?.output.total ?? null
  return {
    id,
    api_type: 'completions',
    request_id: requestId,
    model,
    provider_name: upstream ?? null,
    created_at: new Date(event.startedAt).toISOString(),
    streamed: stream,
    cancelled: outcome === 'aborted',
    finish_reason: finishReasonOf(event),
    native_finish_reason: lane === 'wire' && finish !== undefined ? finish : null,
    tokens_prompt: prompt,
    tokens_completion: completion,
    native_tokens_prompt: prompt,
    native_tokens_completion: completion,
    native_tokens_reasoning: usage?.output.reasoning ?? null,
    native_tokens_cached: usage?.input.cacheRead ?? null,
    service_tier: tier ?? null,
    latency: Math.round(durationMs),
    // Without retries and the gateway's own work.
    generation_time: responding === undefined ? null : Math.round(Math.max(0, durationMs - responding.startedMs)),
    ...costFields(cost),
  }
}

const costFields = (cost: Cost | undefined): JsonObject =>
  cost?.currency === currency ? { total_cost: cost.amount, usage: cost.amount } : {}

function finishReasonOf({ finish, outcome }: FinishEvent): string | null {
  if (outcome === 'failed') return 'error'
  return finish !== undefined && Object.hasOwn(finishReasons, finish) ? (finishReasons[finish] ?? null) : null
}

/** Adds the fields that the gateway does not know. */
export const withUnknownFields = (known: JsonObject): JsonObject => ({ ...unknownFields, ...known })
