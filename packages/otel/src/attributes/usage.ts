import type { Attributes } from '@opentelemetry/api'
import type { FinishEvent } from '../base/events.ts'
import { attributeNames, modelgateNames } from '../conventions/names.ts'

/** Returns true if the upstream counted all usage: estimates of the gateway appear on no bill. */
export const isReportedByUpstream = ({
  estimate,
  basis = 'reported',
}: Pick<FinishEvent, 'estimate' | 'basis'>): boolean => estimate === undefined && basis === 'reported'

/** Returns the usage attributes. The gateway's totals are inclusive, as the conventions require. */
export function usageAttributes(event: Pick<FinishEvent, 'usage' | 'estimate' | 'basis'>): Attributes {
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
