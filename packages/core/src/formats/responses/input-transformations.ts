import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ReasoningCheck, ReasoningPart } from '../ir.ts'
import { pointer } from '../shared/pointer.ts'
import { drop, type Unread, unread } from '../shared/reader.ts'
import { checkedPart, checksField, lostCheck, readChecks, reasoningIn } from '../shared/reasoning-checks.ts'
import { ownExtra } from '../shared/report.ts'
import { substance } from './content.ts'
import { itemIdOf } from './reasoning.ts'

/** The words for a failed check. */
const reasons = {
  organization: 'organization_mismatch',
  user: 'end_user_mismatch',
  model: 'model_mismatch',
  conversation: 'prefix_mismatch',
  turn: 'turn_boundary',
} as const

/** Takes `input_transformations` of a response. Entries of unknown types stay. */
export function takeChecks(fields: Unread, context: ExchangeContext): ReasoningCheck[] | undefined {
  const list = fields[checksField]
  if (!Array.isArray(list) || !list.every(isObject)) return undefined
  const sent = reasoningIn(context.request).filter(({ seal }) => seal?.issuer === 'responses')
  // Clients of other formats do not send ids of items. Where each item was removed, their order says which is which.
  const inOrder = sent.length === list.length ? sent : []
  const { checks, others } = readChecks(list, (entry, index) => {
    const { type, action, id, reason, ...rest } = unread(entry)
    const known = Object.entries(reasons).find(([, word]) => word === reason)?.[0] as keyof typeof reasons | undefined
    if (type !== 'reasoning' || action !== 'removed' || known === undefined) return undefined
    const check: ReasoningCheck = { reason: known, at: pointer(pointer('', checksField), index) }
    const part = sent.find((one) => id !== undefined && itemIdOf(one) === id) ?? inOrder[index]
    put(check, 'place', part?.at)
    const own = { ...substance(rest), ...(check.place === undefined && id !== undefined ? { id } : {}) }
    if (Object.keys(own).length > 0) check.extra = { responses: own }
    return check
  })
  if (others.length > 0) fields[checksField] = others
  else drop(fields, checksField)
  return checks
}

/** The checks as fields of a response. One that names no item is reported, and so is reasoning that was shown all the same. */
export function encodeChecks(checks: readonly ReasoningCheck[] | undefined, context: ExchangeContext): JsonObject {
  if (checks === undefined) return {}
  const list: JsonObject[] = []
  for (const check of checks) {
    const { reason, isShown, at = '', extra } = check
    const own = ownExtra(extra, 'responses', at, context.report)
    const part: ReasoningPart | undefined = checkedPart(check, context.request)
    const id = part === undefined ? own?.id : itemIdOf(part)
    if (isShown) context.report.add(lostCheck(check, 'responses lists what was removed'))
    else if (typeof id !== 'string')
      context.report.add(lostCheck(check, 'which item of the request it was is not known'))
    else list.push({ ...own, type: 'reasoning', action: 'removed', id, reason: reasons[reason] })
  }
  return list.length === 0 && checks.length > 0 ? {} : { [checksField]: list }
}
