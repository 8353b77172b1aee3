import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext, ExchangeContext } from '../codec.ts'
import type { ModelRequest, Nothing, Part, ReasoningCheck, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { isCarriedSeal, sealForCarrier } from '../shared/call-seals.ts'
import { drop, takeArray, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { ownExtra } from '../shared/report.ts'
import { checkedPart, checksField, lossOfCheck, readChecks, reasoningIn } from '../shared/response-losses.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'
import { meaningfulFields } from './content.ts'
import { sealedReasoningKey } from './fields.ts'

/**
 * Seals are stored in `encrypted_content`, which clients return unchanged:
 *
 *     seal of                         encrypted_content
 *     this format                     the data
 *     another issuer, reasoning       issuer and data
 *     another issuer, redacted        issuer, `@redacted:` and data
 *     another issuer, a tool call     issuer, call id and data, in an item without text
 *     none (reasoning of another      issuer `chat` and no data, so that no server of this
 *       format without a seal)          format accepts the returned item as its own
 */

const redactedMark = '@redacted:'
const unsigned = writeSeal({ issuer: 'chat', data: '' }, 'responses')

/** Decodes a reasoning item to the parts of its summary and of its content, in this order. The last part has the seal. */
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
    if (last !== undefined) applyForeignSeal(last, seal)
    if (typeof fields.id === 'string') for (const part of parts) generatedIds.set(part, fields.id)
    return parts // the gateway generated the item's id, so no server knows it
  }
  if (seal !== undefined && last !== undefined) {
    last.seal = seal
    last.at = at
    if (silent) last.redacted = true
  }
  const rest = meaningfulFields(fields)
  if (rest === undefined) return parts
  // The first part carries the item's fields. The others carry the id, which marks them as parts of the same item.
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
    const rest = meaningfulFields(fields)
    if (rest !== undefined) part.extra = { responses: { entry: rest } }
    return part
  })
}

function applyForeignSeal(part: ReasoningPart, { issuer, data }: Sealed): void {
  if (data === '') return
  if (!data.startsWith(redactedMark)) part.seal = { issuer, data }
  else {
    part.seal = { issuer, data: data.slice(redactedMark.length) }
    part.redacted = true
  }
}

/** Returns whether the client asks for reasoning, sealed or not. Other clients read `output[0]` as a message or a call. */
export const expectsReasoning = ({ reasoning, at, extra }: ModelRequest): boolean =>
  (reasoning !== undefined && reasoning.off !== true && reasoning.effort !== 'none') ||
  at?.[sealedReasoningKey] !== undefined ||
  extra?.responses?.reasoning !== undefined

/** Returns whether a part is only a foreign seal of a text or media. It gets no item unless the client expects reasoning. */
export const isSealOnly = (part: Part): part is ReasoningPart =>
  part.type === 'reasoning' &&
  part.text === '' &&
  part.redacted !== true &&
  part.seal !== undefined &&
  isCarriedSeal(part.seal)

/** Returns the reasoning item that carries a call's seal through a client. */
export const carrierItem = (call: Pick<ToolCallPart, 'id'>, seal: Sealed, id: string): JsonObject => ({
  id,
  type: 'reasoning',
  status: 'completed',
  summary: [],
  encrypted_content: writeSeal(sealForCarrier(call, seal), 'responses'),
})

/** Ids of items that the gateway generated, which its clients know. */
const generatedIds = new WeakMap<ReasoningPart, string>()

/** Returns the id of the part's item in the client's request. */
const itemIdOf = (part: ReasoningPart): Json | undefined => generatedIds.get(part) ?? itemId(part)

const itemId = (part: ReasoningPart): Json | undefined => part.extra?.responses?.id

/** Returns whether two adjacent parts belong to one item. A seal ends an item without an id. */
export const isSameItem = (previous: ReasoningPart, next: ReasoningPart): boolean =>
  itemId(previous) === itemId(next) && (previous.seal === undefined || itemId(previous) !== undefined)

/** Returns whether a server of this format wrote the item. Servers accept no other reasoning. */
export const isFromResponses = (group: readonly ReasoningPart[]): boolean =>
  group.some(
    ({ seal, extra }) => seal?.issuer === 'responses' || (seal === undefined && extra?.responses !== undefined),
  )

/** Encodes the parts of one item, without an id if they have none. */
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
    if (seal !== undefined) out.encrypted_content = encodeSeal(seal, redacted)
  }
  out.summary = summary
  if (content.length > 0) out.content = content
  if (out.encrypted_content === undefined && !isFromResponses(group)) out.encrypted_content = unsigned
  return out
}

const encodeSeal = ({ issuer, data }: Sealed, redacted: boolean | undefined): string =>
  writeSeal({ issuer, data: issuer !== 'responses' && redacted ? `${redactedMark}${data}` : data }, 'responses')

/** Values of `reason` for each failed check. */
const reasons = {
  organization: 'organization_mismatch',
  user: 'end_user_mismatch',
  model: 'model_mismatch',
  conversation: 'prefix_mismatch',
  turn: 'turn_boundary',
} as const

/** Decodes `input_transformations` of a response, and leaves entries of unknown types in `fields`. */
export function decodeChecks(fields: Unread, context: ExchangeContext): ReasoningCheck[] | undefined {
  const list = fields[checksField]
  if (!Array.isArray(list) || !list.every(isObject)) return undefined
  const sent = reasoningIn(context.request).filter(({ seal }) => seal?.issuer === 'responses')
  // Clients of other formats send no item ids. If every item was removed, the order identifies them.
  const inOrder = sent.length === list.length ? sent : []
  const { checks, others } = readChecks(list, (entry, index) => {
    const { type, action, id, reason, ...rest } = unread(entry)
    const known = Object.entries(reasons).find(([, word]) => word === reason)?.[0] as keyof typeof reasons | undefined
    if (type !== 'reasoning' || action !== 'removed' || known === undefined) return undefined
    const check: ReasoningCheck = { reason: known, at: pointer(pointer('', checksField), index) }
    const part = sent.find((one) => id !== undefined && itemIdOf(one) === id) ?? inOrder[index]
    put(check, 'place', part?.at)
    const own = { ...meaningfulFields(rest), ...(check.place === undefined && id !== undefined ? { id } : {}) }
    if (Object.keys(own).length > 0) check.extra = { responses: own }
    return check
  })
  if (others.length > 0) fields[checksField] = others
  else drop(fields, checksField)
  return checks
}

/** Encodes failed checks as fields of a response. Reports checks without a known item, and of reasoning that was kept. */
export function encodeChecks(checks: readonly ReasoningCheck[] | undefined, context: ExchangeContext): JsonObject {
  if (checks === undefined) return {}
  const list: JsonObject[] = []
  for (const check of checks) {
    const { reason, isShown, at = '', extra } = check
    const own = ownExtra(extra, 'responses', at, context.report)
    const part: ReasoningPart | undefined = checkedPart(check, context.request)
    const id = part === undefined ? own?.id : itemIdOf(part)
    if (isShown) context.report.add(lossOfCheck(check, 'responses lists removed items only'))
    else if (typeof id !== 'string') context.report.add(lossOfCheck(check, 'the item of the request is not known'))
    else list.push({ ...own, type: 'reasoning', action: 'removed', id, reason: reasons[reason] })
  }
  return list.length === 0 && checks.length > 0 ? {} : { [checksField]: list }
}
