import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse, Part } from '../ir.ts'
import { append, drop, leftover, putBack, takeNumber, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { meaningfulFields } from './content.ts'
import { decodeError } from './error.ts'
import { isResponsesClient, toolNames } from './fields.ts'
import { contentFlagsOf, decodeFinish } from './finish.ts'
import { decodeAssistantItem, type ItemScope } from './items-decode.ts'
import { decodeChecks } from './reasoning.ts'
import { usageOf } from './usage-decode.ts'

/** Fields of a response that other functions decode. */
const decodedFields = [
  'object',
  'output',
  'status',
  'incomplete_details',
  'usage',
  'error',
  'output_text',
  'id',
  'model',
  'created_at',
]

/** Fields that echo the request or describe billing. Clients of other formats do not get them. */
const echoedFields: ReadonlySet<string> = new Set([
  'background',
  'billing',
  'completed_at',
  'conversation',
  'frequency_penalty',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'total_tokens',
  'truncation',
  'user',
])

/** Decodes leniently. Throws the error of a body that holds one under status 200, and `upstream_bad_response` for a body without `output`. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  if (isObject(body) && (body.error || body.status === 'failed')) throw errorIn(body)
  if (!isObject(body) || !Array.isArray(body.output))
    throw new GatewayError(
      'upstream_bad_response',
      'The upstream returned status 200 with a body that is not a response.',
    )
  const fields = unread(body)
  const parts = decodeOutput(body.output, context)
  const choice: Choice = { parts, finish: decodeFinish(body, contentFlagsOf(parts)) }
  const logprobs = collectLogprobs(body.output)
  if (logprobs !== undefined) choice.logprobs = logprobs
  const response: ModelResponse = {
    id: takeString(fields, 'id') ?? '',
    model: takeString(fields, 'model') ?? '',
    created: Math.floor(takeNumber(fields, 'created_at') ?? 0),
    choices: [choice],
  }
  put(response, 'usage', usageOf(body))
  const tier = takeString(fields, 'service_tier')
  if (tier) response.serviceTier = tier
  put(response, 'reasoningChecks', decodeChecks(fields, context))
  const extra = echoedSettings(fields, context)
  if (extra !== undefined) response.extra = { responses: extra }
  return response
}

/** Returns the settings for decoding the items of a response. */
export const scopeOf = (context: ExchangeContext): ItemScope => ({
  context,
  tools: context.request.tools,
  restoreToolName: (name) => restoreToolName(name, context.request, toolNames),
  keepIds: isResponsesClient(context.request),
  keepStates: false,
})

function decodeOutput(output: readonly Json[], context: ExchangeContext): Part[] {
  const scope = scopeOf(context)
  return output.filter(isObject).flatMap((item, index) => decodeItem(item, pointer('/output', index), scope))
}

/** Decodes an output item to parts, without reasoning that has neither text nor seal nor extra fields. */
export const decodeItem = (item: JsonObject, at: string, scope: ItemScope): Part[] =>
  decodeAssistantItem(item, at, scope)
    .filter(
      (part) => part.type !== 'reasoning' || part.text !== '' || part.seal !== undefined || part.extra !== undefined,
    )
    .map(withoutLogprobs)

/** Removes log probabilities from a text, since the choice holds those of all texts. */
function withoutLogprobs(part: Part): Part {
  if (part.type !== 'text' || part.extra?.responses?.logprobs === undefined) return part
  const { logprobs: _, ...own } = part.extra.responses
  const { extra: _extra, ...rest } = part
  return Object.keys(own).length === 0 ? rest : { ...rest, extra: { responses: own } }
}

/** Returns the settings that the upstream echoes: all for clients of this format, only unknown fields for others. */
export function echoedSettings(fields: Unread, context: ExchangeContext): JsonObject | undefined {
  const details = isObject(fields.incomplete_details) ? unread(fields.incomplete_details) : {}
  drop(details, 'reason')
  for (const key of decodedFields) drop(fields, key)
  const rest = leftover(details)
  if (rest !== undefined) putBack(fields, 'incomplete_details', rest)
  if (isResponsesClient(context.request)) return leftover(fields)
  for (const key in fields) if (echoedFields.has(key)) drop(fields, key)
  return meaningfulFields(fields)
}

/** Collects the log probabilities of all texts in the shape of the IR. */
function collectLogprobs(output: readonly Json[]): Json | undefined {
  const content: Json[] = []
  for (const item of output)
    for (const part of isObject(item) && Array.isArray(item.content) ? item.content : [])
      if (isObject(part) && Array.isArray(part.logprobs)) append(content, part.logprobs)
  return content.length === 0 ? undefined : { content, refusal: null }
}

function errorIn(body: JsonObject): GatewayError {
  const { kind, message, ...details } = decodeError(200, body.error ? { error: body.error } : body)
  return new GatewayError(kind, message, details)
}
