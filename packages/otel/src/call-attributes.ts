import type { Attributes } from '@opentelemetry/api'
import { attributeNames, modelgateNames } from './conventions.ts'
import type { Attempt, AttemptEnd, CallInfo, FinishEvent } from './events.ts'
import { providerResponseAttributes, truncate } from './request-attributes.ts'

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

/** Returns true if the upstream counted all usage: estimates of the gateway appear on no bill. */
export const isReportedByUpstream = ({
  estimate,
  basis = 'reported',
}: Pick<FinishEvent, 'estimate' | 'basis'>): boolean => estimate === undefined && basis === 'reported'

/** Returns the usage attributes. The gateway's totals are inclusive, as the conventions require. */
function usageAttributes(event: Pick<FinishEvent, 'usage' | 'estimate' | 'basis'>): Attributes {
  const { usage, basis } = event
  if (usage === undefined) return {}
  if (!isReportedByUpstream(event)) return basis === undefined ? {} : { [modelgateNames.basis]: basis }
  const { input, output } = usage
  const attributes: Attributes = {
    [attributeNames.inputTokens]: input.total,
    [attributeNames.outputTokens]: output.total,
  }
  if (input.cacheRead !== undefined) attributes[attributeNames.cacheRead] = input.cacheRead
  if (input.cacheWrite !== undefined) attributes[attributeNames.cacheCreation] = input.cacheWrite
  if (output.reasoning !== undefined) attributes[attributeNames.reasoning] = output.reasoning
  return attributes
}
