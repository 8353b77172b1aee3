import type { Spoil } from './spoil.ts'
import { answeredBadly } from './spoils-answered.ts'
import { askedBadly } from './spoils-asked.ts'
import { failedBadly } from './spoils-errors.ts'
import { poorModels } from './spoils-models.ts'
import { operatedBadly } from './spoils-operations.ts'

/** Known faults, with the checks that detect them. */
export const spoils: readonly Spoil[] = [
  ...askedBadly,
  ...answeredBadly,
  ...failedBadly,
  ...operatedBadly,
  ...poorModels,
]
