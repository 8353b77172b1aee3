import { GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelRequest, ModelResponse, ToolCallPart } from '../ir.ts'
import { drop, takeString, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { checksField } from '../shared/response-losses.ts'
import { customInput, isCustomTool } from '../shared/tools.ts'
import { decodeContent, substance } from './blocks-decode.ts'
import { decodeError } from './error.ts'
import { toolNames } from './fields.ts'
import { decodeFinish, reportOwnBound } from './finish.ts'
import { takeChecks } from './input-transformations.ts'
import { decodeTier, decodeUsage } from './usage-decode.ts'

/** Takes whatever servers send, as far as it goes. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  if (isObject(body) && (body.type === 'error' || (body.error && body.content === undefined))) throw toThrow(body)
  if (!isObject(body) || !(Array.isArray(body.content) || typeof body.content === 'string'))
    throw new GatewayError('upstream_bad_response', 'The upstream answered 200 with something that is no message.')
  const fields = unread(body)
  const parts = decodeContent(fields.content, '/content').map((part) =>
    part.type === 'tool-call' ? restoreCall(part, context.request) : part,
  )
  const choice: Choice = { parts, finish: decodeFinish(fields) }
  reportOwnBound(choice.finish, context)
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
  if (fields[checksField] !== undefined) put(response, 'reasoningChecks', takeChecks(fields, context))
  const extra = substance(fields)
  if (extra !== undefined) response.extra = { messages: extra }
  return response
}

/** Fields that a stream tells at its end only; here and there they belong to the choice. */
export const endingFields = ['container', 'context_management'] as const

/** Fields of a message that are read elsewhere or say nothing. */
export const frameFields: readonly string[] = [
  'type',
  'role',
  'content',
  'usage',
  'stop_reason',
  'stop_sequence',
  'stop_details',
]

function toThrow(body: JsonObject): GatewayError {
  const { kind, message, ...details } = decodeError(200, body)
  return new GatewayError(kind, message, details)
}

/** A call under the client's own name of the tool; a call of the function that stood for a custom tool is one of that tool. */
export function restoreCall(part: ToolCallPart, request: ModelRequest): ToolCallPart {
  const name = restoreToolName(part.name, request, toolNames)
  const call = name === part.name ? part : { ...part, name }
  return isCustomTool(name, request) ? { ...call, custom: true, input: customInput(part.input) } : call
}
