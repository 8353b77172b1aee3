import { isObject, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ReasoningCheck } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { drop, type Unread, unread } from '../shared/json-fields.ts'
import { ownExtra } from '../shared/report.ts'
import { checksField, lossOfCheck, readChecks, reasoningIn } from '../shared/response-losses.ts'
import { meaningfulFields } from './blocks-decode.ts'
import { encodeRequest } from './request-encode.ts'

/** Anthropic's reasons for a failed check. */
const reasonWords = {
  organization: 'organization_binding_mismatch',
  user: 'end_user_binding_mismatch',
  model: 'model_binding_mismatch',
  conversation: 'prefix_binding_mismatch',
} as const
const droppedType = 'thinking_dropped'
const shownType = 'thinking_mismatch_allowed'

/** Decodes `input_transformations` of a message or of a stream's last event and removes it. Entries of unknown types stay in the field. */
export function decodeChecks(fields: Unread, context: ExchangeContext): ReasoningCheck[] | undefined {
  const list = fields[checksField]
  if (!Array.isArray(list) || !list.every(isObject)) return undefined
  const findPlace = createPlaceFinder(context)
  const { checks, others } = readChecks(list, (entry, index) => {
    const { type, path, reason, ...rest } = unread(entry)
    const knownReason = Object.entries(reasonWords).find(([, wireReason]) => wireReason === reason)?.[0] as
      | keyof typeof reasonWords
      | undefined
    if ((type !== droppedType && type !== shownType) || knownReason === undefined) return undefined
    const check: ReasoningCheck = { reason: knownReason, at: pointer(pointer('', checksField), index) }
    if (type === shownType) check.isShown = true
    if (typeof path === 'string') put(check, 'place', findPlace(path))
    const otherFields = meaningfulFields(rest)
    const extraFields = { ...otherFields, ...(check.place === undefined && path !== undefined ? { path } : {}) }
    if (Object.keys(extraFields).length > 0) check.extra = { messages: extraFields }
    return check
  })
  if (others.length > 0) fields[checksField] = others
  else drop(fields, checksField)
  return checks
}

/**
 * Returns a function that finds the client's part for a block of the body sent upstream. Request bodies are not kept until the response
 * comes. This one is encoded again, which costs time only for responses with checks.
 */
function createPlaceFinder(context: ExchangeContext): (path: string) => string | undefined {
  const { request, target } = context
  if (target === undefined) return () => undefined
  let sent: JsonObject | undefined
  return (path) => {
    const [, message, block] = /^messages\.(\d+)\.content\.(\d+)$/.exec(path) ?? []
    if (message === undefined || block === undefined) return undefined
    sent ??= encodeRequest(request, { ...context, target, report: createReport() })
    const content = Array.isArray(sent.messages) ? sent.messages[Number(message)] : undefined
    const found = isObject(content) && Array.isArray(content.content) ? content.content[Number(block)] : undefined
    if (!isObject(found)) return undefined
    const seal = found.signature ?? found.data
    return reasoningIn(request).find((part) => part.seal?.issuer === 'messages' && part.seal.data === seal)?.at
  }
}

/** Converts a JSON Pointer to a path: `/messages/3/content/0` to `messages.3.content.0`. */
const pathOf = (place: string): string => place.slice(1).replaceAll('/', '.')

/** Encodes checks as fields of a message. Reports a check that names no block or has a reason unknown to Anthropic. */
export function encodeChecks(checks: readonly ReasoningCheck[] | undefined, context: ExchangeContext): JsonObject {
  if (checks === undefined) return {}
  const list: JsonObject[] = []
  for (const check of checks) {
    const { reason, place, isShown, at = '', extra } = check
    const extraFields = ownExtra(extra, 'messages', at, context.report)
    const path = place === undefined ? extraFields?.path : pathOf(place)
    const wireReason = reason === 'turn' ? undefined : reasonWords[reason]
    if (typeof path !== 'string') context.report.add(lossOfCheck(check, 'the block of the request is unknown'))
    else if (wireReason === undefined) context.report.add(lossOfCheck(check, 'messages has no such reason'))
    else list.push({ ...extraFields, type: isShown ? shownType : droppedType, path, reason: wireReason })
  }
  return list.length === 0 && checks.length > 0 ? {} : { [checksField]: list }
}
