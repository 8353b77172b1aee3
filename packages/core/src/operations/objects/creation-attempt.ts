import type { CallRecord } from '../../accounting/call-record.ts'
import { monotonicNow } from '../../base/async.ts'
import { errorKinds } from '../../base/error-kinds.ts'
import { GatewayError } from '../../base/errors.ts'
import type { AttemptLog } from '../../calls/call.ts'
import { recordFailureCause } from '../../calls/failure-cause.ts'
import type { ResolvedTarget } from '../../routing/router.ts'
import type { RoutedCall } from '../route.ts'

/** The work of a creation for one target, and the record of it. */
interface CreationWork {
  readonly record: CallRecord
  readonly target: ResolvedTarget
}

/**
 * Runs the creation of an object that costs tokens, as an attempt of the call records. If the upstream has received the request but its
 * response is lost, the records are charged for their input, as for any other request to a model.
 */
export async function attemptCreation<T>(
  { shared, signal }: Pick<RoutedCall, 'shared' | 'signal'>,
  works: readonly CreationWork[],
  create: () => Promise<T>,
): Promise<T> {
  const startedAt = monotonicNow()
  const logs = works.map(({ record, target }): AttemptLog => {
    const startedMs = performance.now() - record.startedAt
    const log: AttemptLog = { upstream: target.upstreamName, model: target.model, reason: 'first', startedMs }
    record.attempts.push(log)
    return log
  })
  try {
    const created = await create()
    for (const log of logs) log.status = 200
    return created
  } catch (cause) {
    const error =
      cause instanceof GatewayError ? cause : new GatewayError('internal', 'The creation failed.', { cause })
    // The reason of a shutdown has another kind, but the request was cancelled all the same.
    const kind = cause === signal.reason ? 'cancelled' : error.info.kind
    for (const log of logs) {
      log.error = kind
      if (error.hints?.status !== undefined) log.status = error.hints.status
      recordFailureCause(log, error)
    }
    const [first] = works
    if (first !== undefined && errorKinds[kind].mayBeBilled === true)
      shared.logger.warn(
        `modelgate: the response to a creation at upstream '${first.target.upstreamName}' was lost (request ${first.record.requestId}); the upstream may hold an object that has no owner`,
      )
    throw cause
  } finally {
    for (const log of logs) log.latencyMs = monotonicNow() - startedAt
  }
}
