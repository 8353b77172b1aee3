import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CodecContext, ExchangeContext } from '../codec.ts'
import type { ModelRequest, Nothing, Part, ReasoningCheck, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { isCarriedSeal, sealForCarrier } from '../shared/call-seals.ts'
import { drop, takeArray, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { ownExtra } from '../shared/report.ts'
import { checkedPart, checksField, lossOfCheck, readChecks, reasoningIn } from '../shared/response-losses.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'
import { substance } from './content.ts'
import { sealsPlace } from './fields.ts'

/**
 * Seals in this dialect stand in `encrypted_content`, which clients send back untouched. A foreign one says in front of
 * its data what it seals: withheld reasoning, or a tool call (then an item without text carries it). Reasoning of another
 * format that nobody sealed gets an empty seal: no server of this format may take it for its own when it comes back.
 */
const redactedMark = '@redacted:'
const unsigned = writeSeal({ issuer: 'chat', data: '' }, 'responses')

/** One reasoning item as the parts of its summary and its content, in this order; its seal is on the last of them. */
export function decodeReasoning(item: JsonObject, at: string): ReasoningPart[] {
  const fields = unread(item)
  drop(fields, 'type')
  const parts: ReasoningPart[] = [
    ...entries(takeArray(fields, 'summary'), pointer(at, 'summary'), true),
    ...entries(takeArray(fields, 'content'), pointer(at, 'content'), false),
  ]
  const sealed = takeString(fields, 'encrypted_content')
  const seal = sealed === undefined ? undefined : readSeal(sealed, 'responses')
  const silent = parts.length === 0
  if (silent) parts.push({ type: 'reasoning', text: '', at })
  const last = parts[parts.length - 1]
  if (seal !== undefined && seal.issuer !== 'responses') {
    if (last !== undefined) openForeign(last, seal)
    if (typeof fields.id === 'string') for (const part of parts) madeIds.set(part, fields.id)
    return parts // the item's id was made here: it names nothing at any server
  }
  if (seal !== undefined && last !== undefined) {
    last.seal = seal
    last.at = at
    if (silent) last.redacted = true
  }
  const rest = substance(fields)
  if (rest === undefined) return parts
  // The first part carries the item's own fields; of the others the id says that they belong to it.
  const named = rest.id === undefined ? undefined : { id: rest.id }
  for (const [index, part] of parts.entries()) {
    const own = index === 0 ? rest : named
    if (own !== undefined) part.extra = { responses: { ...part.extra?.responses, ...own } }
  }
  return parts
}

const entryTypes: readonly string[] = ['summary_text', 'reasoning_text', 'text', 'summary', 'content']

function entries(list: readonly Json[] | undefined, at: string, summary: boolean): ReasoningPart[] {
  return (list ?? []).filter(isObject).map((entry, index) => {
    const fields = unread(entry)
    if (typeof entry.type !== 'string' || entryTypes.includes(entry.type)) drop(fields, 'type')
    const part: ReasoningPart = {
      type: 'reasoning',
      text: takeString(fields, 'text') ?? '',
      summary,
      at: pointer(at, index),
    }
    const rest = substance(fields)
    if (rest !== undefined) part.extra = { responses: { entry: rest } }
    return part
  })
}

function openForeign(part: ReasoningPart, { issuer, data }: Sealed): void {
  if (data === '') return
  if (!data.startsWith(redactedMark)) part.seal = { issuer, data }
  else {
    part.seal = { issuer, data: data.slice(redactedMark.length) }
    part.redacted = true
  }
}

/** Whether the client asks for reasoning, or for sealed reasoning. Others read `output[0]` as a message or a call. */
export const expectsReasoning = ({ reasoning, at, extra }: ModelRequest): boolean =>
  (reasoning !== undefined && reasoning.off !== true && reasoning.effort !== 'none') ||
  at?.[sealsPlace] !== undefined ||
  extra?.responses?.reasoning !== undefined

/** A foreign seal of a text or the like, not of reasoning: no item is made for it, unless the client expects reasoning. */
export const isLoneSeal = (part: Part): part is ReasoningPart =>
  part.type === 'reasoning' &&
  part.text === '' &&
  part.redacted !== true &&
  part.seal !== undefined &&
  isCarriedSeal(part.seal)

/** The item that carries a call's seal through a client. */
export const carrierOf = (call: Pick<ToolCallPart, 'id'>, seal: Sealed, id: string): JsonObject => ({
  id,
  type: 'reasoning',
  status: 'completed',
  summary: [],
  encrypted_content: writeSeal(sealForCarrier(call, seal), 'responses'),
})

/** Ids that the gateway made, and that its clients know. */
const madeIds = new WeakMap<ReasoningPart, string>()

/** The id of the item in the client's request that a part stood in. */
export const itemIdOf = (part: ReasoningPart): Json | undefined => madeIds.get(part) ?? itemId(part)

const itemId = (part: ReasoningPart): Json | undefined => part.extra?.responses?.id

/** A seal ends an item. Without one, parts belong together unless they name different items. */
export const joins = (previous: ReasoningPart, next: ReasoningPart): boolean =>
  itemId(previous) === itemId(next) && (previous.seal === undefined || itemId(previous) !== undefined)

/** Whether a server of this format wrote the item: nobody else's reasoning is taken back. */
export const isOwn = (group: readonly ReasoningPart[]): boolean =>
  group.some(
    ({ seal, extra }) => seal?.issuer === 'responses' || (seal === undefined && extra?.responses !== undefined),
  )

/** One item of parts that belong together, without an id if it has none of its own. */
export function encodeReasoning(group: readonly ReasoningPart[], context: CodecContext): JsonObject {
  const out: JsonObject = { type: 'reasoning', summary: [] }
  const summary: JsonObject[] = []
  const content: JsonObject[] = []
  for (const part of group) {
    const { type: _, text, summary: isSummary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
    rest satisfies Nothing
    const { entry: kept, ...own } = ownExtra(extra, 'responses', at, context.report) ?? {}
    Object.assign(out, own)
    const raw = isSummary === false
    const entry = { ...(isObject(kept) ? kept : undefined), type: raw ? 'reasoning_text' : 'summary_text', text }
    if (text !== '' || isSummary !== undefined) (raw ? content : summary).push(entry)
    if (seal !== undefined) out.encrypted_content = sealText(seal, redacted)
  }
  out.summary = summary
  if (content.length > 0) out.content = content
  if (out.encrypted_content === undefined && !isOwn(group)) out.encrypted_content = unsigned
  return out
}

const sealText = ({ issuer, data }: Sealed, redacted: boolean | undefined): string =>
  writeSeal({ issuer, data: issuer !== 'responses' && redacted ? `${redactedMark}${data}` : data }, 'responses')

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
    if (isShown) context.report.add(lossOfCheck(check, 'responses lists what was removed'))
    else if (typeof id !== 'string')
      context.report.add(lossOfCheck(check, 'which item of the request it was is not known'))
    else list.push({ ...own, type: 'reasoning', action: 'removed', id, reason: reasons[reason] })
  }
  return list.length === 0 && checks.length > 0 ? {} : { [checksField]: list }
}
