import type { Attributes } from '@opentelemetry/api'
import type { FinishEvent } from './events.ts'
import { attr } from './names.ts'

/** The gateway's totals are inclusive, as the conventions want them. What it counted itself is left out: nobody bills that. */
export function usageAttributes({ usage, estimate }: Pick<FinishEvent, 'usage' | 'estimate'>): Attributes {
  if (usage === undefined || estimate !== undefined) return {}
  const { input, output } = usage
  const attributes: Attributes = { [attr.inputTokens]: input.total, [attr.outputTokens]: output.total }
  if (input.cacheRead !== undefined) attributes[attr.cacheRead] = input.cacheRead
  if (input.cacheWrite !== undefined) attributes[attr.cacheCreation] = input.cacheWrite
  if (output.reasoning !== undefined) attributes[attr.reasoning] = output.reasoning
  return attributes
}
