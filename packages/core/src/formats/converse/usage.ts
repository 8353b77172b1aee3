import type { JsonObject } from '../../base/json/types.ts'
import type { IsShown } from '../carries.ts'
import { usageBeside as beside, type UsageFields } from '../shared/usage-report.ts'

export { decodeUsage } from './usage-decode.ts'

const usageFields = {
  inputTokens: 'told',
  outputTokens: 'told',
  totalTokens: 'told',
  cacheReadInputTokens: 'usage.cacheRead',
  cacheWriteInputTokens: 'usage.cacheWrite',
  // The same once more, under their older names.
  cacheReadInputTokenCount: 'told',
  cacheWriteInputTokenCount: 'told',
  cacheDetails: [{ ttl: 'told', inputTokens: 'usage.cacheWrite1h' }],
} as const satisfies UsageFields

export const usageBeside = (usage: JsonObject, isShown: IsShown): string[] => beside(usage, usageFields, isShown)
