import { inBatches } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { spliceJson } from '../../base/json/edit.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import { scanJson } from '../../base/json/scan.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { acceptsReference, type ReferencePolicy } from '../../config/references.ts'
import { checkTopLevel, findReferences, unknownReferenceError } from '../../formats/references/find.ts'
import { isItemReference, lacksContent, type ReferenceScheme } from '../../formats/references/places.ts'
import type { RequestBody } from '../../formats/request-body.ts'
import { exactValue } from '../../lanes/translation.ts'
import { checkOwners, checkReferenceCount, isResponseReference, maxReferences } from '../references/check.ts'
import { mayReferToStoredObjects } from '../references/notice.ts'
import { type CallerRecords, foreignRecord, itemId, outputItems } from './records.ts'

/**
 * Checks every reference of a request but those to stored responses and their items.
 *
 * @throws GatewayError `invalid_request` for one that is neither the caller's own nor accepted by the configuration
 */
export async function checkReferences(
  scheme: ReferenceScheme,
  request: RequestBody,
  records: CallerRecords,
  policy: ReferencePolicy,
): Promise<void> {
  const references = findReferences(scheme, request.text, request.value).filter((one) => !isResponseReference(one))
  if (references.length > 0) await checkOwners(references, policy, records)
}

/**
 * Checks every reference of a request to Responses, and puts what the gateway keeps in its place.
 *
 * @param maxChars bound of all that is put in place together, as JSON
 * @throws GatewayError as `checkReferences` and `recall` do
 */
export async function resolveReferences(
  scheme: ReferenceScheme,
  request: RequestBody,
  records: CallerRecords,
  policy: ReferencePolicy,
  maxChars: number,
): Promise<ResolvedRequest> {
  if (mayReferToStoredObjects(scheme, request)) await checkReferences(scheme, request, records, policy)
  checkTopLevel(
    scheme,
    request.members.map(({ key }) => key),
  )
  return resolveStoredResponses(request, records, policy, maxChars)
}

/** A request whose references are resolved, as far as the gateway keeps what they refer to. */
export interface ResolvedRequest {
  readonly request: RequestBody
  /** The items of this call itself, references resolved: what is kept with its answer. */
  readonly input: readonly Json[]
  /** The response it goes on from, where the gateway keeps that one. */
  readonly previous?: string
  /** The only upstream that knows what the request refers to. */
  readonly onlyUpstream?: string
  /** Why only an upstream of the same format can be sent the request: the gateway doesn't know what it refers to, but accepts that. */
  readonly unknown?: GatewayError
  /** Why no upstream of the same format may be sent the request: there the id of an item might be read as a reference to another caller's. */
  readonly notOwned?: GatewayError
}

/** Items of one request whose ids are looked up. */
const mostNamedItems = 5000

/**
 * Puts in place of `previous_response_id` the items of the conversation so far, and of each `item_reference` the item. What
 * the gateway does not know is refused, unless the configuration accepts it: then it stays as it is, since the upstream may know it.
 *
 * @param maxChars bound of all that is put in place together, as JSON
 * @throws GatewayError `invalid_request` for what is another caller's or unknown, a conversation of which a part is gone, or a field
 *   given twice; `request_too_large` beyond `maxChars`; `internal` if the store cannot be read
 */
export async function resolveStoredResponses(
  request: RequestBody,
  records: CallerRecords,
  policy: ReferencePolicy,
  maxChars: number,
): Promise<ResolvedRequest> {
  const value = exactValue(request)
  const given = typeof value.input === 'string' ? [{ role: 'user', content: value.input }] : listOf(value.input)
  const size = { left: maxChars }
  const items = await resolveItems(given, records, policy, size)
  const { input } = items
  const notOwned = items.notOwned === undefined ? {} : { notOwned: items.notOwned }
  const id = value.previous_response_id
  const earlier = typeof id === 'string' ? await records.response(id) : undefined
  if (earlier === foreignRecord) throw notFound(String(id))
  if (earlier?.kind === 'forwarded') return { request, input, onlyUpstream: earlier.upstream, ...notOwned }
  const resolved = input.some((item, index) => item !== given[index])
  if (earlier === undefined) {
    const same = { request: resolved ? rewritten(request, { input: [...input] }) : request, input, ...notOwned }
    if (typeof id !== 'string' || id === '') return same
    const unknown = notFound(id)
    if (!acceptsReference(policy, 'responses', id)) throw unknown
    return { ...same, unknown }
  }
  const previous = id as string
  const before = await conversation(previous, records, size)
  const whole = rewritten(request, { input: [...before, ...input], previous_response_id: null })
  return { request: whole, input, previous, ...notOwned }
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

/** What references and earlier turns stand for may be no larger than a request that says it all itself. */
function spend(size: { left: number }, what: Json): void {
  size.left -= stringifyExact(what).length
  if (size.left < 0)
    throw new GatewayError('request_too_large', 'What the request refers to is larger than a request may be.', {
      param: 'input',
    })
}

/** The items, references resolved. Each id is looked up once, and references before other items. */
async function resolveItems(
  given: readonly Json[],
  records: CallerRecords,
  policy: ReferencePolicy,
  size: { left: number },
): Promise<{ input: readonly Json[]; notOwned?: GatewayError }> {
  const references = new Map<string, JsonObject | undefined>()
  const held = new Set<string>()
  const named = new Set<string>()
  for (const item of given) {
    const id = itemId(item)
    if (id === undefined || !isObject(item)) continue
    if (isItemReference(item)) references.set(id, undefined)
    else if (lacksContent(item)) held.add(id)
    // Clients call their own messages as they like.
    else if (item.role !== 'user') named.add(id)
  }
  if (references.size + held.size + named.size === 0) return { input: given }
  checkReferenceCount(references.size, 'input')
  checkReferenceCount(references.size + held.size + named.size, 'input', mostNamedItems)
  const unknownItem = (id: string): GatewayError => itemNotFound(id, records)
  const isAcceptedItem = (id: string): boolean => acceptsReference(policy, 'responses', id)
  await inBatches([...references.keys()], async (id) => {
    const found = await records.item(id)
    if (found === foreignRecord) throw unknownItem(id)
    if (found === undefined) {
      if (!isAcceptedItem(id) && (await records.itemOwner(id)) !== 'own') throw unknownItem(id)
      return
    }
    spend(size, found)
    references.set(id, found)
  })
  let notOwned: GatewayError | undefined
  await inBatches([...held, ...named], async (id) => {
    const owner = await records.itemOwner(id)
    // Whatever its shape: an upstream goes by the name.
    if (owner === 'other') throw unknownItem(id)
    if (owner === undefined && held.has(id) && !isAcceptedItem(id) && (await records.item(id)) === undefined)
      notOwned ??= unknownItem(id)
  })
  const used = new Set<string>()
  const input = given.map((item) => {
    const id = itemId(item)
    const found = id === undefined || !isObject(item) || !isItemReference(item) ? undefined : references.get(id)
    if (id === undefined || found === undefined) return item
    if (used.has(id)) spend(size, found)
    used.add(id)
    return found
  })
  return notOwned === undefined ? { input } : { input, notOwned }
}

const itemNotFound = (id: string, { isEnabled: keeps }: CallerRecords): GatewayError =>
  unknownReferenceError('responses', id, 'input', `Item with id '${id.slice(0, 100)}' not found.`, keeps)

/** Everything said up to and including this response's answer. */
async function conversation(id: string, records: CallerRecords, size: { left: number }): Promise<Json[]> {
  const turns: (readonly Json[])[] = []
  let next: string | undefined = id
  for (let length = 0; next !== undefined; length++) {
    const record: Awaited<ReturnType<CallerRecords['response']>> =
      length < maxReferences ? await records.response(next) : undefined
    if (record === undefined || record === foreignRecord || record.kind !== 'kept') throw notFound(next)
    const items = [...record.input, ...outputItems(record.response)]
    spend(size, items)
    turns.push(items)
    next = record.previous
  }
  return turns.reverse().flat()
}

/** In the words, and with the code, that clients know. */
const notFound = (id: string): GatewayError =>
  unknownReferenceError(
    'responses',
    id,
    'previous_response_id',
    `Previous response with id '${id.slice(0, 100)}' not found.`,
  )

function rewritten({ text, members, value }: RequestBody, set: JsonObject): RequestBody {
  const spliced = spliceJson(text, members, set)
  const body = { ...value, ...set }
  return {
    bytes: new TextEncoder().encode(spliced),
    text: spliced,
    members: scanJson(spliced, Number.POSITIVE_INFINITY).members,
    value: body,
  }
}
