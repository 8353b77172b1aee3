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
  const record = { id, upstream: upstream.name, createdAt: Date.now() }
  const undo = { method: 'POST', path: `${pathOf(objectCall.dialect, upstream, id)}/cancel` }
  const save = async (): Promise<void> => {
    await records.objects.save('batchWork', { ...record, fields: { work: JSON.stringify(work) } })
    await records.objects.save(kind, record)
  }
  await saveOrUndo(objectCall, { target: upstream, undo }, save, async (error, isCancelled) => {
    // Without its owner, no call can settle the batch later.
    abandonWork(call, admitted, work, error, isCancelled)
    await records.objects.delete('batchWork', [id]).catch(() => {})
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

/** Settlements that are running in this process: of two calls about an ended batch, one settles it, and both wait. */
const running = new Map<string, Promise<void>>()

/** Settles a batch if it has ended and is not settled yet. Never rejects: a later call about the batch tries again. */
export async function settleBatch(
  objectCall: ObjectCall,
  dialect: BatchDialect,
  target: ObjectUpstream,
  id: string,
  batch?: JsonObject,
): Promise<void> {
  const key = JSON.stringify([objectCall.records.owner, target.name, id])
  const active = running.get(key)
  if (active !== undefined) return active
  const done = settleOnce(objectCall, dialect, target, id, batch)
    .catch((error: unknown) => {
      objectCall.call.shared.logger.warn(
        `modelgate: the usage of batch ${id} could not be read; it is not settled yet`,
        error,
      )
    })
    .finally(() => running.delete(key))
  running.set(key, done)
  return done
}

async function settleOnce(
  objectCall: ObjectCall,
  dialect: BatchDialect,
  target: ObjectUpstream,
  id: string,
  known: JsonObject | undefined,
): Promise<void> {
  const { call, records } = objectCall
  if (known !== undefined && !dialect.isEnded(known)) return
  const stored = await records.objects.find('batchWork', id)
  if (stored === undefined) return
  const path = pathOf(objectCall.dialect, target, id)
  const batch = known ?? (await requestJson(call, target, { method: 'GET', path })).value
  if (!dialect.isEnded(batch)) return
  const work = parseWork(stored.fields?.work ?? '')
  const usages = await dialect.readUsage(objectCall, target, batch, work)
  // Deleted first: a process that ends here leaves the reservation counted, and nothing is counted twice.
  await records.objects.delete('batchWork', [id])
  settleWork(call, work, usages)
}

/** Records that files with the results of a batch belong to its owner. */
export async function claimResults(
  { records }: ObjectCall,
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
