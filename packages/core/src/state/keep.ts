import type { Logger } from '../config.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { isObject } from '../formats/shared/reader.ts'
import { newId } from '../ids.ts'
import type { Reply } from '../inbound.ts'
import type { Ledger } from '../settle.ts'
import { createSseDecoder } from '../sse/decode.ts'
import type { Recalled } from './recall.ts'
import { idOf, inTime, type Records, type ResponseRecord } from './records.ts'

export interface Keeping {
  readonly records: Records
  readonly recalled: Recalled
  readonly ledger: Ledger
  readonly logger: Logger
}

/** The first event that names a response claims it for its owner; the last ones hold the answer. */
const endings = ['response.created', 'response.completed', 'response.incomplete'] as const

/**
 * The same reply; the response in it is kept before its last bytes leave, so that the client's next call finds it. A store
 * that fails costs the client nothing but that.
 */
export async function keepReply(reply: Reply, keeping: Keeping): Promise<Reply> {
  const { body } = reply
  if (reply.status !== 200 || body === null) return reply
  if (typeof body === 'string' || body instanceof Uint8Array) {
    await keep(typeof body === 'string' ? body : new TextDecoder().decode(body), keeping)
    return reply
  }
  return { ...reply, body: keepStream(body, keeping) }
}

function keepStream(body: AsyncIterable<Uint8Array>, keeping: Keeping): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const inner = body[Symbol.asyncIterator]()
      return {
        async next() {
          const item = await inner.next()
          // Chunks hold whole events, so that what tells of the end is not divided among two.
          if (item.done !== true && mayEnd(item.value)) await keepFrom(item.value, keeping)
          return item
        },
        return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

const decoder = new TextDecoder()
const mayEnd = (chunk: Uint8Array): boolean => {
  const text = decoder.decode(chunk)
  return endings.some((name) => text.includes(name))
}

async function keepFrom(chunk: Uint8Array, keeping: Keeping): Promise<void> {
  for (const { data } of createSseDecoder(Number.POSITIVE_INFINITY).push(chunk)) {
    if (!endings.some((name) => data.includes(`"${name}"`))) continue
    const event = parse(data)
    if (event !== undefined && endings.some((name) => name === event.type) && isObject(event.response))
      await keepResponse(event.response, keeping)
  }
}

async function keep(text: string, keeping: Keeping): Promise<void> {
  const response = parse(text)
  if (response !== undefined) await keepResponse(response, keeping)
}

async function keepResponse(response: JsonObject, { records, recalled, ledger, logger }: Keeping): Promise<void> {
  const id = idOf(response)
  if (id === undefined) return
  const { owner } = records
  const { input, previous } = recalled
  const isForwarded = ledger.upstreamFormat === ledger.format
  // Not every server that speaks the format has a memory; and what failed is nothing to go on from, unless its keeper says so.
  if (isForwarded ? response.store === false : response.status !== 'completed' && response.status !== 'incomplete')
    return
  const record: ResponseRecord = isForwarded
    ? { kind: 'forwarded', owner, upstream: ledger.upstream ?? '' }
    : { kind: 'kept', owner, response, input: input.map(named), ...(previous === undefined ? {} : { previous }) }
  try {
    await inTime(records.keep(id, record, Array.isArray(response.output) ? response.output : []))
  } catch (error) {
    logger.warn(`modelgate: response of request ${ledger.requestId} could not be kept`, error)
  }
}

/** Items can be referred to, so each has a name. */
const named = (item: Json): Json => (isObject(item) && idOf(item) === undefined ? { ...item, id: newId('msg_') } : item)

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
