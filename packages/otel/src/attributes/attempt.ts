import type { Attributes } from '@opentelemetry/api'
import type { AttemptEnd } from '../base/attempt-end.ts'
import type { Attempt, FinishEvent } from '../base/events.ts'
import { truncate } from '../base/truncate.ts'
import { attributeNames, modelgateNames } from '../conventions/names.ts'
import { providerResponseAttributes } from './provider.ts'
import { usageAttributes } from './usage.ts'

/**
 * Returns the attributes of a finished attempt. Usage is set only on the attempt that answered, so that a sum over spans is
 * right.
 */
export function attemptAttributes(
  event: FinishEvent,
  attempt: Attempt,
  { answered, errorType }: AttemptEnd,
  provider: string,
): Attributes {
  const { status, key, waitedMs, latencyMs, upstreamRequestId } = attempt
  const attributes: Attributes = {}
  if (status !== undefined) attributes[attributeNames.status] = status
  if (errorType !== undefined) attributes[attributeNames.errorType] = errorType
  if (key !== undefined) attributes[modelgateNames.key] = key
  if (waitedMs !== undefined) attributes[modelgateNames.wait] = waitedMs / 1000
  if (latencyMs !== undefined) attributes[modelgateNames.latency] = latencyMs / 1000
  if (upstreamRequestId !== undefined) attributes[modelgateNames.upstreamRequestId] = truncate(upstreamRequestId)
  if (!answered) return attributes
  if (event.stream && latencyMs !== undefined) attributes[attributeNames.firstChunk] = latencyMs / 1000
  if (event.finish !== undefined) attributes[attributeNames.finishReasons] = [truncate(event.finish, 64)]
  if (event.upstreamFormat !== undefined) attributes[modelgateNames.upstreamFormat] = event.upstreamFormat
  return Object.assign(attributes, usageAttributes(event), providerResponseAttributes(provider, event.upstreamFormat))
}
