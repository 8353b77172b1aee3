import { callbackChecks } from './callbacks/checks.ts'
import type { Check } from './check.ts'
import { clientChecks } from './clients/checks.ts'
import { complexityChecks } from './complexity/checks.ts'
import { faultChecks } from './faults/checks.ts'
import { healthIsolationChecks } from './health-isolation/checks.ts'
import { inputChecks } from './input/checks.ts'
import { lifeChecks } from './life/checks.ts'
import { modelChecks } from './models/checks.ts'
import { redactionChecks } from './redaction/checks.ts'
import { referenceChecks } from './references/checks.ts'
import { responseSplittingChecks } from './response-splitting/checks.ts'
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
  ...complexityChecks,
  ...healthIsolationChecks,
  ...responseSplittingChecks,
  ...clientChecks,
  ...modelChecks,
  ...redactionChecks,
  ...referenceChecks,
  ...callbackChecks,
].sort((a, b) => a.row - b.row)
