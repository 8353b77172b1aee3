import { GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse, Part } from '../ir.ts'
import { append, drop, leftover, putBack, takeNumber, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { pointer } from '../shared/pointers.ts'
import { substance } from './content.ts'
import { decodeError } from './error.ts'
import { isOwnClient, toolNames } from './fields.ts'
import { decodeFinish, heldBy } from './finish.ts'
import { decodeAnswerItem, type ItemScope } from './items-decode.ts'
import { takeChecks } from './reasoning.ts'
import { decodeUsage } from './usage-decode.ts'

/** Fields of a response that are read elsewhere. */
const read = [
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

/** What a response repeats of its request, or says of its bill: nothing in it is new to a client of another format. */
const echoed: ReadonlySet<string> = new Set([
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

/** Takes whatever servers send, as far as it goes. An `error` in a 200 is an error. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  if (isObject(body) && (body.error || body.status === 'failed')) throw toThrow(body)
  if (!isObject(body) || !Array.isArray(body.output))
    throw new GatewayError('upstream_bad_response', 'The upstream answered 200 with something that is no response.')
  const fields = unread(body)
  const parts = decodeOutput(body.output, context)
  const choice: Choice = { parts, finish: decodeFinish(body, heldBy(parts)) }
  const logprobs = collectLogprobs(body.output)
  if (logprobs !== undefined) choice.logprobs = logprobs
  const response: ModelResponse = {
    id: takeString(fields, 'id') ?? '',
    model: takeString(fields, 'model') ?? '',
    created: Math.floor(takeNumber(fields, 'created_at') ?? 0),
    choices: [choice],
  }
  put(response, 'usage', decodeUsage(body.usage))
  const tier = takeString(fields, 'service_tier')
  if (tier) response.serviceTier = tier
  put(response, 'reasoningChecks', takeChecks(fields, context))
  const extra = settings(fields, context)
  if (extra !== undefined) response.extra = { responses: extra }
  return response
}

export const scopeOf = (context: ExchangeContext): ItemScope => ({
  context,
  tools: context.request.tools,
  raise: (name) => restoreToolName(name, context.request, toolNames),
  keepIds: isOwnClient(context.request),
  keepStates: false,
})

function decodeOutput(output: readonly Json[], context: ExchangeContext): Part[] {
  const scope = scopeOf(context)
  return output.filter(isObject).flatMap((item, index) => decodeItem(item, pointer('/output', index), scope))
}

/** An item's parts, in the answer of an upstream. Reasoning of which nothing can be shown is there for those who refer to it. */
export const decodeItem = (item: JsonObject, at: string, scope: ItemScope): Part[] =>
  decodeAnswerItem(item, at, scope)
    .filter(
      (part) => part.type !== 'reasoning' || part.text !== '' || part.seal !== undefined || part.extra !== undefined,
    )
    .map(withoutLogprobs)

/** They are told for the whole answer, in one place. */
function withoutLogprobs(part: Part): Part {
  if (part.type !== 'text' || part.extra?.responses?.logprobs === undefined) return part
  const { logprobs: _, ...own } = part.extra.responses
  const { extra: _extra, ...rest } = part
  return Object.keys(own).length === 0 ? rest : { ...rest, extra: { responses: own } }
}

/** The settings as the upstream repeats them: its client wants them all, any other only what is news. */
export function settings(fields: Unread, context: ExchangeContext): JsonObject | undefined {
  const details = isObject(fields.incomplete_details) ? unread(fields.incomplete_details) : {}
  drop(details, 'reason')
  for (const key of read) drop(fields, key)
  const rest = leftover(details)
  if (rest !== undefined) putBack(fields, 'incomplete_details', rest)
  if (isOwnClient(context.request)) return leftover(fields)
  for (const key in fields) if (echoed.has(key)) drop(fields, key)
  return substance(fields)
}

/** Log probabilities of all texts, in the one shape that the IR knows. */
function collectLogprobs(output: readonly Json[]): Json | undefined {
  const content: Json[] = []
  for (const item of output)
    for (const part of isObject(item) && Array.isArray(item.content) ? item.content : [])
      if (isObject(part) && Array.isArray(part.logprobs)) append(content, part.logprobs)
  return content.length === 0 ? undefined : { content, refusal: null }
}

function toThrow(body: JsonObject): GatewayError {
  const { kind, message, ...details } = decodeError(200, body.error ? { error: body.error } : body)
  return new GatewayError(kind, message, details)
}
