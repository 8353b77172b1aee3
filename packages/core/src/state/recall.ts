import { GatewayError } from '../errors.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { isObject } from '../formats/shared/reader.ts'
import { scanJson } from '../json/scan.ts'
import { spliceJson } from '../json/splice.ts'
import type { RequestBody } from '../lanes/wire.ts'
import { foreign, itemsOf, type Records } from './records.ts'

/** A request whose references are resolved, as far as the gateway keeps what they refer to. */
export interface Recalled {
  readonly request: RequestBody
  /** The items of this call itself, references resolved: what is kept with its answer. */
  readonly input: readonly Json[]
  /** The response it goes on from, where the gateway keeps that one. */
  readonly previous?: string
  /** The only upstream that knows what the request refers to. */
  readonly onlyUpstream?: string
  /** What to tell where nobody but the gateway could know what the request refers to. */
  readonly unknown?: GatewayError
}

/** Turns of one conversation; a chain that is longer goes round in circles. */
const longestChain = 10_000

/**
 * Puts in place of `previous_response_id` the items of the conversation so far, and of each `item_reference` the item. What
 * the gateway does not know stays as it is: the upstream may know it. Throws 400 for a conversation of which a part is gone.
 */
export async function recall(request: RequestBody, records: Records): Promise<Recalled> {
  const { value } = request
  const given = typeof value.input === 'string' ? [{ role: 'user', content: value.input }] : listOf(value.input)
  const input = await Promise.all(given.map((item) => resolve(item, records)))
  const id = value.previous_response_id
  const earlier = typeof id === 'string' ? await records.response(id) : undefined
  if (earlier === foreign) throw notFound(String(id))
  if (earlier?.kind === 'forwarded') return { request, input, onlyUpstream: earlier.upstream }
  const resolved = input.some((item, index) => item !== given[index])
  if (earlier === undefined) {
    const same = { request: resolved ? rewritten(request, { input }) : request, input }
    return typeof id === 'string' ? { ...same, unknown: notFound(id) } : same
  }
  const previous = id as string
  const before = await conversation(previous, records)
  const whole = rewritten(request, { input: [...before, ...input], previous_response_id: null })
  return { request: whole, input, previous }
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

async function resolve(item: Json, records: Records): Promise<Json> {
  if (!isObject(item) || typeof item.id !== 'string') return item
  // An item of nothing but its id is one form of reference, and the commoner one.
  const refers = item.type === 'item_reference' || (item.type === undefined && Object.keys(item).length === 1)
  if (!refers) return item
  const found = await records.item(item.id)
  if (found !== foreign) return found ?? item
  throw new GatewayError('invalid_request', `Item with id '${item.id.slice(0, 100)}' not found.`, { param: 'input' })
}

/** Everything said up to and including this response's answer. */
async function conversation(id: string, records: Records): Promise<Json[]> {
  const turns: (readonly Json[])[] = []
  let next: string | undefined = id
  for (let length = 0; next !== undefined; length++) {
    const record: Awaited<ReturnType<Records['response']>> =
      length < longestChain ? await records.response(next) : undefined
    if (record === undefined || record === foreign || record.kind !== 'kept') throw notFound(next)
    turns.push(itemsOf(record))
    next = record.previous
  }
  return turns.reverse().flat()
}

/** In the words, and with the code, that clients know. */
const notFound = (id: string): GatewayError =>
  new GatewayError('invalid_request', `Previous response with id '${id.slice(0, 100)}' not found.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })

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
