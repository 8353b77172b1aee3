import { inBatches } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { acceptsReference, type ReferencePolicy } from '../../config/references.ts'
import { checkTopLevel, unknownReferenceError } from '../../formats/references/find.ts'
import { isItemReference, lacksContent, type ReferenceScheme } from '../../formats/references/places.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import { exactValue } from '../../lanes/translation.ts'
import { checkReferenceCount, checkReferences, maxReferences } from '../references/check.ts'
import { mayReferToStoredObjects } from '../references/notice.ts'
import { compactedWindow, openCompactions } from './compaction/conversation.ts'
import { type CallerRecords, type ForwardedResponse, foreignRecord, itemId, outputItems } from './records.ts'
import { rewriteRequest } from './rewrite-request.ts'

/** What resolving the references of a request depends on. */
export interface ResolveOptions {
  readonly policy: ReferencePolicy
  /** Maximum size of everything that is inserted, as JSON. */
  readonly maxChars: number
}

/**
 * Checks all references of a request to Responses, and replaces those to stored responses and items, and the gateway's own compaction
 * items.
 *
 * @throws GatewayError as `checkReferences`, `resolveStoredResponses` and `openCompactions` do
 */
export async function resolveReferences(
  scheme: ReferenceScheme,
  request: RequestBody,
  records: CallerRecords,
  { policy, maxChars }: ResolveOptions,
): Promise<ResolvedRequest> {
  if (mayReferToStoredObjects(scheme, request)) await checkReferences(scheme, request, records, policy)
  checkTopLevel(
    scheme,
    request.members.map(({ key }) => key),
  )
  const resolved = await resolveStoredResponses(request, records, policy, maxChars)
  return { ...resolved, request: await openCompactions(resolved.request, records), sealed: resolved.request }
}

/** A request whose references are replaced by what the gateway has stored. */
export interface ResolvedRequest {
  readonly request: RequestBody
  /** The same request, with the gateway's own compaction items as the client sent them. */
  readonly sealed: RequestBody
  /**
   * Items of this call with references resolved, after those of earlier responses that only the connection knows. They are stored with
   * the response.
   */
  readonly input: readonly Json[]
  /** The previous response, if the gateway has stored it. */
  readonly previous?: string
  /** The previous response, if it stays in the request: only an upstream has its content. */
  readonly continued?: string
  /** The only upstream that has the objects that the request refers to. */
  readonly onlyUpstream?: string
  /** The previous response, if it was generated in the background and is not settled yet. */
  readonly unsettled?: { readonly id: string; readonly stored: ForwardedResponse }
  /**
   * Error for upstreams of other formats. Set if the request refers to objects that the gateway does not know but the configuration
   * accepts.
   */
  readonly unknown?: GatewayError
  /** Error for all upstreams of the same format: they might read the id of an item as a reference to another caller's item. */
  readonly notOwned?: GatewayError
}

/** Maximum number of items in one request whose ids are looked up. */
const maxItemLookups = 5000

/**
 * Replaces `previous_response_id` by the items of the conversation so far, and each `item_reference` by its item. An unknown id is
 * rejected. If the configuration accepts it, it stays, because the upstream may know it.
 *
 * @param maxChars maximum size of everything that is inserted, as JSON
 * @throws GatewayError `invalid_request` for an id of another caller, an unknown id, an incomplete conversation, or a duplicate field;
 * `request_too_large` beyond `maxChars`; `internal` if the store cannot be read
 */
async function resolveStoredResponses(
  request: RequestBody,
  records: CallerRecords,
  policy: ReferencePolicy,
  maxChars: number,
): Promise<Omit<ResolvedRequest, 'sealed'>> {
  const value = exactValue(request)
  const original = typeof value.input === 'string' ? [{ role: 'user', content: value.input }] : listOf(value.input)
  const size = { left: maxChars }
  const resolvedItems = await resolveItems(original, records, policy, size)
  const { input } = resolvedItems
  const notOwned = resolvedItems.notOwned === undefined ? {} : { notOwned: resolvedItems.notOwned }
  const id = value.previous_response_id
  const recent = typeof id === 'string' ? records.connection?.response(id) : undefined
  if (recent !== undefined) reserve(size, [...recent.items])
  const items = recent === undefined ? [...input] : [...compactedWindow(recent.items), ...input]
  // What only the connection knows is part of the request from here on, and continues its base.
  const base = recent === undefined ? id : recent.base
  const found =
    typeof base === 'string' && base !== '' ? await findPrevious(base, String(id), records, policy) : undefined
  if (found === undefined || 'continued' in found) {
    const resolved = recent !== undefined || input.some((item, index) => item !== original[index])
    const set: JsonObject = { input: items }
    if (recent !== undefined) set.previous_response_id = base ?? null
    // An upstream that has the previous response has the items that this request refers to.
    const unchanged = !resolved || (recent === undefined && found?.onlyUpstream !== undefined)
    const rewritten = unchanged ? request : rewriteRequest(request, set)
    if (recent !== undefined) noteContinuation(records, String(id), rewritten, input)
    return { ...found, request: rewritten, input: items, ...notOwned }
  }
  const before = await conversation(found.previous, records, size)
  const expanded = rewriteRequest(request, {
    input: [...compactedWindow(before), ...items],
    previous_response_id: null,
  })
  return { request: expanded, input: items, previous: found.previous, ...notOwned }
}

function noteContinuation(
  { connection }: CallerRecords,
  id: string,
  { text, members }: RequestBody,
  added: readonly Json[],
): void {
  const [whole, ...repeated] = members.filter(({ key }) => key === 'input')
  if (whole !== undefined && repeated.length === 0)
    connection?.continues?.({ id, whole: text.slice(whole.start, whole.end), added })
}

/** Where the content of a previous response is: in the store (`previous`), or only at an upstream (`continued`). */
type FoundPrevious =
  | { readonly previous: string }
  | {
      readonly continued: string
      readonly onlyUpstream?: string
      readonly unknown?: GatewayError
      readonly unsettled?: ResolvedRequest['unsettled'] & object
    }

/**
 * Finds the previous response of a request.
 *
 * @param named the id in the client's request, for errors
 * @throws GatewayError for another caller's id, and for an unknown one that the configuration does not accept
 */
async function findPrevious(
  id: string,
  named: string,
  records: CallerRecords,
  policy: ReferencePolicy,
): Promise<FoundPrevious> {
  const record = await records.response(id)
  if (record === foreignRecord) throw notFound(named)
  if (record?.kind === 'forwarded')
    return {
      continued: id,
      onlyUpstream: record.upstream,
      ...(record.work === undefined ? {} : { unsettled: { id, stored: record } }),
    }
  if (record !== undefined) return { previous: id }
  const unknown = notFound(named)
  if (!acceptsReference(policy, 'responses', id)) throw unknown
  return { continued: id, unknown }
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

/** Reserves space for inserted items. References may not make a request larger than one that contains everything itself. */
function reserve(size: { left: number }, what: Json): void {
  size.left -= stringifyExact(what).length
  if (size.left < 0)
    throw new GatewayError(
      'request_too_large',
      'The objects that the request refers to are larger than the size limit of requests.',
      {
        param: 'input',
      },
    )
}

/** Returns the items with references resolved. Each id is looked up once, and references before other items. */
async function resolveItems(
  original: readonly Json[],
  records: CallerRecords,
  policy: ReferencePolicy,
  size: { left: number },
): Promise<{ input: readonly Json[]; notOwned?: GatewayError }> {
  const references = new Map<string, JsonObject | undefined>()
  const emptyItems = new Set<string>()
  const itemIds = new Set<string>()
  for (const item of original) {
    const id = itemId(item)
    if (id === undefined || !isObject(item)) continue
    if (isItemReference(item)) references.set(id, undefined)
    else if (lacksContent(item)) emptyItems.add(id)
    // Clients may choose any id for their own messages.
    else if (item.role !== 'user') itemIds.add(id)
  }
  if (references.size + emptyItems.size + itemIds.size === 0) return { input: original }
  checkReferenceCount(references.size, 'input')
  checkReferenceCount(references.size + emptyItems.size + itemIds.size, 'input', maxItemLookups)
  const unknownItem = (id: string): GatewayError => itemNotFound(id, records)
  const isAcceptedItem = (id: string): boolean => acceptsReference(policy, 'responses', id)
  await inBatches([...references.keys()], async (id) => {
    const found = await records.item(id)
    if (found === foreignRecord) throw unknownItem(id)
    if (found === undefined) {
      if (!isAcceptedItem(id) && (await records.itemOwner(id)) !== 'own') throw unknownItem(id)
      return
    }
    reserve(size, found)
    references.set(id, found)
  })
  let notOwned: GatewayError | undefined
  await inBatches([...emptyItems, ...itemIds], async (id) => {
    const owner = await records.itemOwner(id)
    // Applies to items of any shape, because an upstream only looks at the id.
    if (owner === 'other') throw unknownItem(id)
    if (owner === undefined && emptyItems.has(id) && !isAcceptedItem(id) && (await records.item(id)) === undefined)
      notOwned ??= unknownItem(id)
  })
  const used = new Set<string>()
  const input = original.map((item) => {
    const id = itemId(item)
    const found = id === undefined || !isObject(item) || !isItemReference(item) ? undefined : references.get(id)
    if (id === undefined || found === undefined) return item
    if (used.has(id)) reserve(size, found)
    used.add(id)
    return found
  })
  return notOwned === undefined ? { input } : { input, notOwned }
}

const itemNotFound = (id: string, { isEnabled: keeps }: CallerRecords): GatewayError =>
  unknownReferenceError('responses', id, 'input', `Item with id '${id.slice(0, 100)}' not found.`, keeps)

/** Returns all items of the conversation up to and including this response's output. */
async function conversation(id: string, records: CallerRecords, size: { left: number }): Promise<Json[]> {
  const turns: (readonly Json[])[] = []
  let next: string | undefined = id
  for (let length = 0; next !== undefined; length++) {
    const record: Awaited<ReturnType<CallerRecords['response']>> =
      length < maxReferences ? await records.response(next) : undefined
    if (record === undefined || record === foreignRecord || record.kind !== 'kept') throw notFound(next)
    const items = [...record.input, ...outputItems(record.response)]
    reserve(size, items)
    turns.push(items)
    next = record.previous
  }
  return turns.reverse().flat()
}

/** Returns the error with the message and code that clients know. */
const notFound = (id: string): GatewayError =>
  unknownReferenceError(
    'responses',
    id,
    'previous_response_id',
    `Previous response with id '${id.slice(0, 100)}' not found.`,
  )
