import type { Attributes } from '@opentelemetry/api'
import type { Ended } from '../base/attempt-end.ts'
import type { Attempt, FinishEvent } from '../base/events.ts'
import { short } from '../base/truncate.ts'
import { attr, own } from '../conventions/names.ts'
import { answerWordsOf } from './provider.ts'
import { usageAttributes } from './usage.ts'

/**
 * Returns the attributes of a finished attempt. Usage is set only on the attempt that answered, so that a sum over spans is
 * right.
 */
export function attemptAttributes(
  event: FinishEvent,
  attempt: Attempt,
  { answered, errorType }: Ended,
  provider: string,
): Attributes {
  const { status, key, waitedMs, latencyMs, upstreamRequestId } = attempt
  const attributes: Attributes = {}
  if (status !== undefined) attributes[attr.status] = status
  if (errorType !== undefined) attributes[attr.errorType] = errorType
  if (key !== undefined) attributes[own.key] = key
  if (waitedMs !== undefined) attributes[own.wait] = waitedMs / 1000
  if (latencyMs !== undefined) attributes[own.latency] = latencyMs / 1000
  if (upstreamRequestId !== undefined) attributes[own.upstreamRequestId] = short(upstreamRequestId)
  if (!answered) return attributes
  if (event.stream && latencyMs !== undefined) attributes[attr.firstChunk] = latencyMs / 1000
  if (event.finish !== undefined) attributes[attr.finishReasons] = [short(event.finish, 64)]
  if (event.upstreamFormat !== undefined) attributes[own.upstreamFormat] = event.upstreamFormat
  return Object.assign(attributes, usageAttributes(event), answerWordsOf(provider, event.upstreamFormat))
}
