import { GatewayError } from '../../base/errors.ts'
import { nounOf } from './find-object.ts'
import type { ObjectCall } from './object-call.ts'
import { type ObjectRequest, type ObjectUpstream, requestJson } from './send.ts'

/** A new object at its upstream. */
interface NewObject {
  readonly target: ObjectUpstream
  /** The request that undoes the creation. */
  readonly undo: Pick<ObjectRequest, 'method' | 'path'>
}

/**
 * Stores the owner of a new object. If that fails, undoes the creation: without a record no caller could use or delete the object.
 *
 * @param onLost called before the error is thrown, with whether the creation is undone
 * @throws GatewayError `internal`
 */
export async function saveOrUndo(
  { call, kind }: Pick<ObjectCall, 'call' | 'kind'>,
  { target, undo }: NewObject,
  save: () => Promise<void>,
  onLost?: (error: GatewayError, isUndone: boolean) => Promise<void>,
): Promise<void> {
  try {
    await save()
  } catch (cause) {
    const message = `The owner of the new ${nounOf(kind)} could not be stored. Try again later.`
    const error = new GatewayError('internal', message, { cause })
    const isUndone = await requestJson(call, target, { ...undo, outlivesClient: true }).then(
      () => true,
      () => false,
    )
    if (!isUndone)
      call.shared.logger.warn(
        `modelgate: the owner of a new ${nounOf(kind)} at upstream '${target.name}' could not be stored, and its creation could not be undone (request ${call.record.requestId})`,
      )
    await onLost?.(error, isUndone)
    throw error
  }
}
