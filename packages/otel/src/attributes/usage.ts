import type { Attributes } from '@opentelemetry/api'
import type { FinishEvent } from '../base/events.ts'
import { attr, own } from '../conventions/names.ts'

/** Returns true if the upstream counted all usage: estimates of the gateway appear on no bill. */
export const isCounted = ({ estimate, basis = 'reported' }: Pick<FinishEvent, 'estimate' | 'basis'>): boolean =>
  estimate === undefined && basis === 'reported'

/** Returns the usage attributes. The gateway's totals are inclusive, as the conventions require. */
export function usageAttributes(event: Pick<FinishEvent, 'usage' | 'estimate' | 'basis'>): Attributes {
  const { usage, basis } = event
  if (usage === undefined) return {}
  if (!isCounted(event)) return basis === undefined ? {} : { [own.basis]: basis }
  const { input, output } = usage
  const attributes: Attributes = { [attr.inputTokens]: input.total, [attr.outputTokens]: output.total }
  if (input.cacheRead !== undefined) attributes[attr.cacheRead] = input.cacheRead
  if (input.cacheWrite !== undefined) attributes[attr.cacheCreation] = input.cacheWrite
  if (output.reasoning !== undefined) attributes[attr.reasoning] = output.reasoning
  return attributes
}
