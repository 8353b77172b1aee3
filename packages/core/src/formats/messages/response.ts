import { GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, ModelResponse } from '../ir.ts'
import { reportEnding } from '../shared/ending.ts'
import { drop, takeString, unread } from '../shared/reader.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { encodeAnswerPart, restoreCall } from './answer-blocks.ts'
import { decodeContent, substance } from './blocks-decode.ts'
import { decodeError } from './error.ts'
import { decodeFinish, encodeFinish, heldBy, reportOwnBound } from './finish.ts'
import { encodeChecks, takeChecks } from './input-transformations.ts'
import { sealsBeforeText } from './seal-carrier.ts'
import { decodeTier, decodeUsage, encodeUsage, reportTier } from './usage.ts'

/** Fields that a stream tells at its end only; here and there they belong to the choice. */
export const endingFields = ['container', 'context_management'] as const

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
  put(response, 'reasoningChecks', takeChecks(fields, context))
  const extra = substance(fields)
  if (extra !== undefined) response.extra = { messages: extra }
  return response
}

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

/** Throws GatewayError for an answer that ended in an error: there is no stop reason that says so. */
export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created: _, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  const [choice, ...others] = choices
  for (const [index] of others.entries())
    context.report.add(loss(`/choices/${index + 1}`, 'messages carries one answer; the others are left out'))
  const { parts, finish, logprobs, extra: choiceExtra, ...choiceRest } = choice ?? noChoice
  choiceRest satisfies Nothing
  const at = '/choices/0'
  if (logprobs !== undefined) context.report.add(loss(`${at}/logprobs`, 'messages has no log probabilities'))
  checkFinish(finish, parts.length > 0)
  reportEnding(finish, { pause: true }, at, context)
  reportTier(serviceTier, usage, context.report)
  const ending = ownExtra(choiceExtra, 'messages', at, context.report)
  ownExtra(finish.extra, 'messages', at, context.report)
  return {
    ...encodeChecks(reasoningChecks, context),
    ...ownExtra(extra, 'messages', '', context.report),
    id: id || context.newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: model || context.request.model,
    content: sealsBeforeText(parts).flatMap((part) => encodeAnswerPart(part, context)),
    ...encodeFinish(finish, heldBy(parts)),
    ...ending,
    usage: encodeUsage(usage, serviceTier),
  }
}

const noChoice: Choice = { parts: [], finish: { reason: 'other' } }

/** An answer that ended in an error is told as one, and so is one that says nothing and ended for no reason known here. */
export function checkFinish({ reason, raw, explanation }: Choice['finish'], said: boolean): void {
  if (reason === 'error' || (reason === 'other' && !said && raw?.format !== 'messages'))
    throw new GatewayError('upstream_error', explanation ?? 'The upstream ended its answer with an error.')
}
