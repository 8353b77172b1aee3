import { GatewayError } from '../../errors.ts'
import type { Json, JsonObject } from '../../formats/ir.ts'
import { isObject } from '../../formats/shared/reader.ts'
import { scanJson } from '../../json/scan.ts'
import { spliceJson } from '../../json/splice.ts'
import type { RequestBody } from '../../lanes/wire.ts'
import { foreign, type Records } from '../../state/records.ts'
import { outputOf } from './output.ts'

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
 * the gateway does not know stays as it is: the upstream may know it.
 *
 * @param maxChars bound of all that is put in place together, as JSON
 * @throws GatewayError `invalid_request` for what is another caller's, a conversation of which a part is gone, or a field
 *   given twice; `request_too_large` beyond `maxChars`; `internal` if the store cannot be read
 */
export async function recall(request: RequestBody, records: Records, maxChars: number): Promise<Recalled> {
  const { value, members } = request
  for (const name of ['previous_response_id', 'input', 'conversation'])
    if (members.filter(({ key }) => key.toLowerCase() === name).length > 1)
      throw new GatewayError('invalid_request', `${name}: it is given more than once.`, { param: name })
  const given = typeof value.input === 'string' ? [{ role: 'user', content: value.input }] : listOf(value.input)
  const input: Json[] = []
  const size = { left: maxChars }
  // One after another: what is too much is found out before all of it has been read.
  for (const item of given) input.push(await resolve(item, records, size))
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
  const before = await conversation(previous, records, size)
  const whole = rewritten(request, { input: [...before, ...input], previous_response_id: null })
  return { request: whole, input, previous }
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

/** What references and earlier turns stand for may be no larger than a request that says it all itself. */
function spend(size: { left: number }, what: Json): void {
  size.left -= JSON.stringify(what).length
  if (size.left < 0)
    throw new GatewayError('request_too_large', 'What the request refers to is larger than a request may be.', {
      param: 'input',
    })
}

async function resolve(item: Json, records: Records, size: { left: number }): Promise<Json> {
  if (!isObject(item) || typeof item.id !== 'string') return item
  // An item of nothing but its id is one form of reference, and the commoner one.
  const refers = item.type === 'item_reference' || (item.type === undefined && Object.keys(item).length === 1)
  const found = await records.item(item.id)
  if (found !== foreign) {
    if (!refers || found === undefined) return item
    spend(size, found)
    return found
  }
  // Whatever its shape: an upstream goes by the name. But clients call their own messages as they like.
  if (!refers && item.role === 'user') return item
  throw new GatewayError('invalid_request', `Item with id '${item.id.slice(0, 100)}' not found.`, { param: 'input' })
}

/** Everything said up to and including this response's answer. */
async function conversation(id: string, records: Records, size: { left: number }): Promise<Json[]> {
  const turns: (readonly Json[])[] = []
  let next: string | undefined = id
  for (let length = 0; next !== undefined; length++) {
    const record: Awaited<ReturnType<Records['response']>> =
      length < longestChain ? await records.response(next) : undefined
    if (record === undefined || record === foreign || record.kind !== 'kept') throw notFound(next)
    const items = [...record.input, ...outputOf(record.response)]
    spend(size, items)
    turns.push(items)
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
