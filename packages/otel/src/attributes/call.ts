import type { Attributes } from '@opentelemetry/api'
import type { CallInfo, FinishEvent } from '../base/events.ts'
import { short } from '../base/truncate.ts'
import { attr, own } from '../conventions/names.ts'

/** Returns the attributes known when a call begins. Samplers see these. */
export const beginAttributes = ({ operation, format, model, stream, requestId }: CallInfo): Attributes => ({
  [attr.requestModel]: short(model),
  ...(stream ? { [attr.stream]: true } : {}),
  [own.operation]: operation,
  [own.clientFormat]: format,
  [own.requestId]: requestId,
})

/**
 * Returns the attributes known when a call has ended. Losses are recorded as counts by kind (notes apart): the path of a loss is
 * content of the request.
 */
export function endAttributes(
  event: FinishEvent,
  errorType: string | undefined,
  providerOf: (upstream: string) => string,
): Attributes {
  const {
    upstream,
    upstreamModel,
    upstreamFormat,
    lane,
    status,
    outcome,
    attempts,
    losses,
    finish,
    stream,
    firstEventMs,
  } = event
  const lost = losses.filter(({ severity }) => severity !== 'note')
  const attributes: Attributes = {
    [attr.status]: status,
    [own.outcome]: outcome,
    [own.attempts]: attempts.length,
    [own.losses]: lost.length,
  }
  if (lost.length > 0) attributes[own.lossKinds] = [...new Set(lost.map(({ kind }) => kind))]
  if (lost.length < losses.length) attributes[own.notes] = losses.length - lost.length
  if (errorType !== undefined) attributes[attr.errorType] = errorType
  if (upstream !== undefined) {
    attributes[attr.provider] = providerOf(upstream)
    attributes[own.upstream] = upstream
  }
  if (upstreamModel !== undefined) attributes[own.upstreamModel] = short(upstreamModel)
  if (upstreamFormat !== undefined) attributes[own.upstreamFormat] = upstreamFormat
  if (lane !== undefined) attributes[own.lane] = lane
  if (finish !== undefined) attributes[attr.finishReasons] = [short(finish, 64)]
  if (stream && firstEventMs !== undefined) attributes[attr.firstChunk] = firstEventMs / 1000
  return attributes
}
