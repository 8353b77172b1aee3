import type { AdmitCall, FinishEvent } from '@modelgate/core'
import type { TokenRecord, TokenSettings } from '../contract/token.ts'
import { checkBudgets, checkLimits } from '../tokens/limit-settings.ts'

/** Creates a token with these limits and budgets. */
export const tokenWith = ({ limits, budget }: Pick<TokenSettings, 'limits' | 'budget'>, id = 'tok_1'): TokenRecord => ({
  id,
  limits: limits === undefined ? [] : checkLimits(limits),
  budgets: budget === undefined ? [] : checkBudgets(budget),
  hint: 'mg-Ab3d',
  createdAt: 0,
  secrets: [],
  version: 1,
})

export const callOf = (
  requestId: string,
  { input = 100, ...more }: Partial<AdmitCall> & { input?: number; output?: number | undefined } = {},
): AdmitCall => ({
  requestId,
  identity: { id: 'tok_1' },
  operation: 'generate',
  format: 'chat',
  model: 'gpt-5',
  stream: false,
  startedAt: Date.UTC(2026, 10, 21, 12),
  targets: [{ upstream: 'openai', model: 'gpt-5' }],
  estimate: () => ({ input, output: 'output' in more ? more.output : 50 }),
  header: () => undefined,
  ...more,
})

export const endOf = (requestId: string, more: Partial<FinishEvent> = {}): FinishEvent => ({
  requestId,
  identity: { id: 'tok_1' },
  operation: 'generate',
  format: 'chat',
  model: 'gpt-5',
  stream: false,
  status: 200,
  outcome: 'finished',
  losses: [],
  attempts: [],
  startedAt: Date.UTC(2026, 10, 21, 12),
  durationMs: 5,
  ...more,
})

/** Usage as an upstream reports it. */
export const took = (input: number, output: number, cacheRead = 0): Partial<FinishEvent> => ({
  usage: { input: { total: input, cacheRead }, output: { total: output } },
  basis: 'reported',
})
