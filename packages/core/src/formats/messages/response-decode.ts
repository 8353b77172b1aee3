import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelRequest, ModelResponse, ToolCallPart } from '../ir.ts'
import { drop, takeString, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { checksField } from '../shared/response-losses.ts'
import { customInput, isCustomTool } from '../shared/tools.ts'
import { decodeContent, meaningfulFields } from './blocks-decode.ts'
import { decodeError } from './error.ts'
import { toolNames } from './fields.ts'
import { decodeFinish, reportDefaultMaxTokens } from './finish.ts'
import { decodeChecks } from './input-transformations.ts'
import { decodeTier, decodeUsage } from './usage-decode.ts'

/** Decodes a response. It is lenient: servers leave out fields and add their own. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  if (isObject(body) && (body.type === 'error' || (body.error && body.content === undefined)))
    throw toGatewayError(body)
  if (!isObject(body) || !(Array.isArray(body.content) || typeof body.content === 'string'))
    throw new GatewayError('upstream_bad_response', 'The upstream responded with status 200, but without a message.')
  const fields = unread(body)
  const parts = decodeContent(fields.content, '/content').map((part) =>
    part.type === 'tool-call' ? restoreCall(part, context.request) : part,
  )
  const choice: Choice = { parts, finish: decodeFinish(fields) }
  reportDefaultMaxTokens(choice.finish, context)
  const ending: JsonObject = {}
  for (const key of endingFields) {
    const value = fields[key]
    if (value !== undefined && value !== null) ending[key] = value
    drop(fields, key)
  }
  if (Object.keys(ending).length > 0) choice.extra = { messages: ending }
  const response: ModelResponse = {
    id: takeString(fields, 'id') ?? '',
    model: takeString(fields, 'model') ?? '',
    created: 0,
    choices: [choice],
  }
  put(response, 'usage', decodeUsage(fields.usage))
  put(response, 'serviceTier', decodeTier(fields.usage))
  for (const key of frameFields) drop(fields, key)
  if (fields[checksField] !== undefined) put(response, 'reasoningChecks', decodeChecks(fields, context))
  const extra = meaningfulFields(fields)
  if (extra !== undefined) response.extra = { messages: extra }
  return response
}

/** Fields that a stream sends only at its end. In the IR they belong to the choice, in streams and in whole responses. */
export const endingFields = ['container', 'context_management'] as const

/** Fields of a message that are decoded elsewhere or carry no information. */
export const frameFields: readonly string[] = [
  'type',
  'role',
  'content',
  'usage',
  'stop_reason',
  'stop_sequence',
  'stop_details',
]

function toGatewayError(body: JsonObject): GatewayError {
  const { kind, message, ...details } = decodeError(200, body)
  return new GatewayError(kind, message, details)
}

/** Restores the client's name of the tool. A call of a function that replaced a custom tool becomes a call of that tool. */
export function restoreCall(part: ToolCallPart, request: ModelRequest): ToolCallPart {
  const name = restoreToolName(part.name, request, toolNames)
  const call = name === part.name ? part : { ...part, name }
  return isCustomTool(name, request) ? { ...call, custom: true, input: customInput(part.input) } : call
}
