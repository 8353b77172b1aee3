import type { Check } from '../check.ts'
import { amplification } from './amplification.ts'
import { billing } from './billing.ts'
import { breaker } from './breaker.ts'
import { retryBudget } from './budget.ts'
import { noRetryAfterFirstByte } from './first-byte.ts'
import { leavingInBackoff } from './leaving.ts'
import { retryAfter } from './retry-after.ts'

export const retryChecks: readonly Check[] = [
  noRetryAfterFirstByte,
  amplification,
  retryAfter,
  retryBudget,
  breaker,
  leavingInBackoff,
  billing,
]
