import type { Attributes } from '@opentelemetry/api'
import type { CallInfo, FinishEvent } from '../base/events.ts'
import { truncate } from '../base/truncate.ts'
import { attributeNames, modelgateNames } from '../conventions/names.ts'

/** Returns the attributes known when a call begins. Samplers see these. */
export const callStartAttributes = ({ operation, format, model, stream, requestId }: CallInfo): Attributes => ({
  [attributeNames.requestModel]: truncate(model),
  ...(stream ? { [attributeNames.stream]: true } : {}),
  [modelgateNames.operation]: operation,
  [modelgateNames.clientFormat]: format,
  [modelgateNames.requestId]: requestId,
})

/**
 * Returns the attributes known when a call has ended. Losses are recorded as counts by kind (notes apart): the path of a loss is
 * content of the request.
 */
export function callEndAttributes(
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
    [attributeNames.status]: status,
    [modelgateNames.outcome]: outcome,
    [modelgateNames.attempts]: attempts.length,
    [modelgateNames.losses]: lost.length,
  }
  if (lost.length > 0) attributes[modelgateNames.lossKinds] = [...new Set(lost.map(({ kind }) => kind))]
  if (lost.length < losses.length) attributes[modelgateNames.notes] = losses.length - lost.length
  if (errorType !== undefined) attributes[attributeNames.errorType] = errorType
  if (upstream !== undefined) {
    attributes[attributeNames.provider] = providerOf(upstream)
    attributes[modelgateNames.upstream] = upstream
  }
  if (upstreamModel !== undefined) attributes[modelgateNames.upstreamModel] = truncate(upstreamModel)
  if (upstreamFormat !== undefined) attributes[modelgateNames.upstreamFormat] = upstreamFormat
  if (lane !== undefined) attributes[modelgateNames.lane] = lane
  if (finish !== undefined) attributes[attributeNames.finishReasons] = [truncate(finish, 64)]
  if (stream && firstEventMs !== undefined) attributes[attributeNames.firstChunk] = firstEventMs / 1000
  return attributes
}
