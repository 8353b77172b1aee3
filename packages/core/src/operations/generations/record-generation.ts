import { isObject, type JsonObject } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import type { GatewayContext } from '../../calls/call.ts'
import type { FinishEvent } from '../../config/finish-event.ts'
import type { Reply } from '../../http/inbound.ts'
import { handleGenerate } from '../generate.ts'
import { withinStoreTimeout } from '../responses/store-timeout.ts'
import type { Handler, RoutedCall } from '../route.ts'
import { toGeneration } from './generation.ts'
import { watchStream } from './watch-stream.ts'

/** Longer ids are not stored, so that no upstream can fill the store with them. */
export const maxIdChars = 256

/** Returns whether a plugin of the gateway knows costs: the record of a call must state its cost. */
export const knowsCosts = ({ plugins }: Pick<GatewayContext, 'plugins'>): boolean =>
  plugins.some(({ costOf }) => costOf !== undefined)

/** Handles chat generation, and stores the record of the call under the id of the response when the call has ended. */
export const handleRecordedGenerate: Handler = async (call) => {
  const noteId = knowsCosts(call.shared) ? await startRecord(call) : undefined
  const reply = await handleGenerate(call)
  return noteId === undefined ? reply : withId(reply, noteId)
}

/** Returns the function that receives the id of the response; undefined if nothing is stored for the caller. */
async function startRecord({ snapshot, record, shared }: RoutedCall): Promise<((id: string) => void) | undefined> {
  const { requestId } = record
  const { logger } = shared
  const records = await snapshot.recordsOf(record.identity)
  if (!records.isEnabled) return undefined
  let id: string | undefined
  let ended: FinishEvent | undefined
  const save = async (known: string, event: FinishEvent): Promise<void> => {
    try {
      await withinStoreTimeout(records.saveGeneration(known, toGeneration(known, event)))
    } catch (error) {
      logger.warn(`modelgate: the generation of request ${requestId} could not be stored`, error)
    }
  }
  const saveIfComplete = (): void => {
    if (id !== undefined && ended !== undefined) void save(id, ended)
  }
  const onSettled = (event: FinishEvent): void => {
    // A background response has neither usage nor cost yet.
    if (event.deferred === true) return
    ended = event
    saveIfComplete()
  }
  // A short stream has ended before its first chunk is sent.
  record.onSettled = onSettled
  return (known) => {
    if (known.length > maxIdChars) return
    id = known
    saveIfComplete()
  }
}

const decoder = new TextDecoder()

function withId(reply: Reply, noteId: (id: string) => void): Reply {
  const { body } = reply
  if (body === null) return reply
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const id = idOf(parseObject(typeof body === 'string' ? body : decoder.decode(body)))
    if (id !== undefined) noteId(id)
    return reply
  }
  return {
    ...reply,
    body: watchStream(body, (event) => {
      const id = idOf(event)
      if (id !== undefined) noteId(id)
      return id !== undefined
    }),
  }
}

/** The id of a response or chunk, or of the response that an event contains (`message_start`, `response.created`). */
function idOf(value: JsonObject | undefined): string | undefined {
  for (const one of [value, value?.message, value?.response])
    if (isObject(one) && typeof one.id === 'string' && one.id !== '') return one.id
  return undefined
}
