import { callbackChecks } from './callbacks/checks.ts'
import type { Check } from './check.ts'
import { faultChecks } from './faults/checks.ts'
import { inputChecks } from './input/checks.ts'
import { lifeChecks } from './life/checks.ts'
import { retryChecks } from './retries/checks.ts'
import { secretChecks } from './secrets/checks.ts'
import { streamChecks } from './streams/checks.ts'

/** Every row of the promises, in order. */
export const checks: readonly Check[] = [
  ...streamChecks,
  ...faultChecks,
  ...retryChecks,
  ...inputChecks,
  ...secretChecks,
  ...lifeChecks,
  ...callbackChecks,
].sort((a, b) => a.row - b.row)
