import type { Check } from '../check.ts'
import { references } from './references.ts'

export const referenceChecks: readonly Check[] = [references]
