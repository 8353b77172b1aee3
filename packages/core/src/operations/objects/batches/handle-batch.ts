import { stopReason } from '../../../base/async.ts'
import { GatewayError } from '../../../base/errors.ts'
import type { JsonObject } from '../../../base/json/json.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import type { Reply } from '../../../http/inbound.ts'
import { checkCount } from '../../responses/object-records.ts'
import type { RoutedCall } from '../../route.ts'
import { attemptCreation } from '../creation-attempt.ts'
import { countOwn, pathOf } from '../find-object.ts'
import type { ObjectCall } from '../object-call.ts'
import { saveOrUndo } from '../save-owner.ts'
import { type ObjectResponse, type ObjectUpstream, objectReply, requestJson, withMembers } from '../send.ts'
import type { BatchDialect, NewBatch } from './batch-dialect.ts'
import { abandonWork, admitWork, deferWork, failWork, parseWork, settleWork } from './work.ts'

/** Creates a batch: checks and admits its requests, and records its owner and its reservations. */
export async function createBatch(
  objectCall: ObjectCall,
  dialect: BatchDialect,
  request: RequestBody,
  query: string,
): Promise<Reply> {
  const { call, kind, records } = objectCall
  checkCount(kind, await countOwn(objectCall))
  const batch = await dialect.read(objectCall, request)
  const { upstream } = batch
  const admitted = await admitWork(call, request, batch.parts)
  let response: ObjectResponse
  let id: string
  try {
    const works = admitted.map(({ part, record }) => ({ record, target: part.target }))
    const created = await attemptCreation(call, works, () => requestBatch(call, batch, query))
    response = created.response
    id = created.id
  } catch (error) {
    failWork(call, admitted, error)
    throw error
  }
  const work = deferWork(call, admitted, batch)
  const record = { id, upstream: upstream.name, createdAt: Date.now(), work: JSON.stringify(work) }
  const undo = { method: 'POST', path: `${pathOf(objectCall.dialect, upstream, id)}/cancel` }
  // In one record: a store that drops its oldest keys must not drop the work of a batch that it keeps.
  const save = (): Promise<void> => records.objects.save(kind, record)
  await saveOrUndo(objectCall, { target: upstream, undo }, save, async (error, isCancelled) => {
    // Without its owner, no call can settle the batch later.
    abandonWork(call, admitted, work, error, isCancelled)
    await records.objects.delete(kind, [id]).catch(() => {})
  })
  return objectReply(call, batchForClient(objectCall, dialect, response))
}

async function requestBatch(
  call: RoutedCall,
  { upstream, body }: NewBatch,
  query: string,
): Promise<{ readonly response: ObjectResponse; readonly id: string }> {
  const headers = { 'content-type': 'application/json' }
  const sent = { method: 'POST', path: upstream.path, query, headers, body, outlivesClient: true }
  const response = await requestJson(call, upstream, sent)
  const { id } = response.value
  if (typeof id !== 'string' || id === '')
    throw new GatewayError('upstream_bad_response', 'The upstream created a batch without an id.')
  return { response, id }
}

/** Returns the bytes of a batch for its owner. */
export const batchForClient = (
  objectCall: ObjectCall,
  { membersForClient }: BatchDialect,
  response: ObjectResponse,
): string | Uint8Array => withMembers(response, membersForClient?.(objectCall, response.value) ?? {})

/**
 * Whether the usage of a batch is counted. 'running': the batch has not ended. 'unsettled': its usage could not be read or stored, so its
 * results must not be given away.
 */
type BatchState = 'settled' | 'running' | 'unsettled'

interface Settlement {
  readonly signal: RoutedCall['signal']
  readonly state: Promise<BatchState>
}

/** Settlements that are running in this process: of two calls about an ended batch, one settles it, and both wait. */
const running = new Map<string, Settlement>()

/** Settles a batch if it has ended and is not settled yet. Never rejects: a later call about the batch tries again. */
export async function settleBatch(
  objectCall: ObjectCall,
  dialect: BatchDialect,
  target: ObjectUpstream,
  id: string,
  batch?: JsonObject,
): Promise<BatchState> {
  const { signal, shared } = objectCall.call
  const key = JSON.stringify([objectCall.records.owner, target.name, id])
  let hasWaited = false
  for (let other = running.get(key); other !== undefined; other = running.get(key)) {
    const state = await other.state
    // A settlement ends with the client that began it. If it failed for another reason, one more attempt is enough for all who wait.
    if (state === 'settled' || (state === 'unsettled' && hasWaited && !other.signal.aborted)) return state
    if (state === 'running' && batch === undefined) return state
    hasWaited = true
  }
  const state = settleOnce(objectCall, dialect, target, id, batch)
    .catch((error: unknown): BatchState => {
      shared.logger.warn(`modelgate: the usage of batch ${id} could not be read; it is not settled yet`, error)
      return 'unsettled'
    })
    .finally(() => running.delete(key))
  running.set(key, { signal, state })
  return state
}

async function settleOnce(
  objectCall: ObjectCall,
  dialect: BatchDialect,
  target: ObjectUpstream,
  id: string,
  known: JsonObject | undefined,
): Promise<BatchState> {
  const { call } = objectCall
  if (known !== undefined && !dialect.isEnded(known)) return 'running'
  const stored = await findWork(objectCall, id)
  if (stored === undefined) return 'settled'
  const path = pathOf(objectCall.dialect, target, id)
  const batch = known ?? (await requestJson(call, target, { method: 'GET', path })).value
  if (!dialect.isEnded(batch)) return 'running'
  const work = parseWork(stored.work)
  const usages = await dialect.readUsage(objectCall, target, batch, work)
  // Another process may have settled it meanwhile.
  const latest = await findWork(objectCall, id)
  if (latest === undefined) return 'settled'
  // Deleted first: a process that ends here leaves the reservation counted, and nothing is counted twice.
  await latest.remove()
  settleWork(call, work, usages)
  return 'settled'
}

/** The work of a batch that is not settled. */
interface StoredWork {
  readonly work: string
  remove(): Promise<void>
}

/** Returns the work of a batch; undefined if it is settled. */
async function findWork({ kind, records: { objects } }: ObjectCall, id: string): Promise<StoredWork | undefined> {
  const record = await objects.find(kind, id)
  if (record?.work !== undefined) {
    const { work, ...settled } = record
    return { work, remove: () => objects.save(kind, settled) }
  }
  // Batches that an earlier version of the gateway has created.
  const separate = await objects.find('batchWork', id)
  return separate && { work: separate.fields?.work ?? '', remove: () => objects.delete('batchWork', [id]) }
}

/** Throws the error of a call that would give away or delete the results of a batch that could not be settled. */
export function checkSettled({ signal }: Pick<RoutedCall, 'signal'>, state: BatchState | undefined): void {
  if (state !== 'unsettled') return
  if (signal.aborted) throw stopReason(signal)
  throw new GatewayError(
    'unavailable',
    'The batch has ended, but the gateway could not record its usage yet, so its results are not available. Try again later.',
  )
}

/** Records that files with the results of a batch belong to its owner. */
export async function claimResults(
  { records }: Pick<ObjectCall, 'records'>,
  { resultFiles }: BatchDialect,
  target: ObjectUpstream,
  batch: JsonObject,
): Promise<void> {
  for (const id of resultFiles?.(batch) ?? [])
    if ((await records.objects.find('files', id)) === undefined)
      await records.objects.save('files', {
        id,
        upstream: target.name,
        createdAt: Date.now(),
        fields: { purpose: 'batch_output' },
      })
}
