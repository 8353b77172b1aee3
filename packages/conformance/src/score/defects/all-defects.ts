import type { Spoil } from './defect.ts'
import { failedBadly } from './error-defects.ts'
import { poorModels } from './model-defects.ts'
import { operatedBadly } from './operation-defects.ts'
import { askedBadly } from './request-defects.ts'
import { answeredBadly } from './response-defects.ts'

/** Known server defects with the checks that must detect them. */
export const spoils: readonly Spoil[] = [
  ...askedBadly,
  ...answeredBadly,
  ...failedBadly,
  ...operatedBadly,
  ...poorModels,
]
