import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ReasoningCheck } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { drop, type Unread, unread } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { ownExtra } from '../shared/report.ts'
import { checksField, lossOfCheck, readChecks, reasoningIn } from '../shared/response-losses.ts'
import { substance } from './blocks-decode.ts'
import { encodeRequest } from './request-encode.ts'

/** The words for a failed check. */
const reasons = {
  organization: 'organization_binding_mismatch',
  user: 'end_user_binding_mismatch',
  model: 'model_binding_mismatch',
  conversation: 'prefix_binding_mismatch',
} as const
const dropped = 'thinking_dropped'
const shown = 'thinking_mismatch_allowed'

/** Takes `input_transformations` of a message, or of a stream's last event. Entries of unknown types stay. */
export function takeChecks(fields: Unread, context: ExchangeContext): ReasoningCheck[] | undefined {
  const list = fields[checksField]
  if (!Array.isArray(list) || !list.every(isObject)) return undefined
  const findPlace = placeFinder(context)
  const { checks, others } = readChecks(list, (entry, index) => {
    const { type, path, reason, ...rest } = unread(entry)
    const known = Object.entries(reasons).find(([, word]) => word === reason)?.[0] as keyof typeof reasons | undefined
    if ((type !== dropped && type !== shown) || known === undefined) return undefined
    const check: ReasoningCheck = { reason: known, at: pointer(pointer('', checksField), index) }
    if (type === shown) check.isShown = true
    if (typeof path === 'string') put(check, 'place', findPlace(path))
    const beside = substance(rest)
    const own = { ...beside, ...(check.place === undefined && path !== undefined ? { path } : {}) }
    if (Object.keys(own).length > 0) check.extra = { messages: own }
    return check
  })
  if (others.length > 0) fields[checksField] = others
  else drop(fields, checksField)
  return checks
}

/**
 * Finds what the client wrote for a block of the body that was sent. Bodies are not kept until the answer comes: this one is
 * written again, which only an answer with checks costs.
 */
function placeFinder(context: ExchangeContext): (path: string) => string | undefined {
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

/** `messages.3.content.0` for the pointer to that block. */
const pathOf = (place: string): string => place.slice(1).replaceAll('/', '.')

/** The checks as fields of a message. One that names no block, or whose reason has no word here, is reported. */
export function encodeChecks(checks: readonly ReasoningCheck[] | undefined, context: ExchangeContext): JsonObject {
  if (checks === undefined) return {}
  const list: JsonObject[] = []
  for (const check of checks) {
    const { reason, place, isShown, at = '', extra } = check
    const own = ownExtra(extra, 'messages', at, context.report)
    const path = place === undefined ? own?.path : pathOf(place)
    const word = reason === 'turn' ? undefined : reasons[reason]
    if (typeof path !== 'string')
      context.report.add(lossOfCheck(check, 'which block of the request it was is not known'))
    else if (word === undefined) context.report.add(lossOfCheck(check, 'messages has no such reason'))
    else list.push({ ...own, type: isShown ? shown : dropped, path, reason: word })
  }
  return list.length === 0 && checks.length > 0 ? {} : { [checksField]: list }
}
