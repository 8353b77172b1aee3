import type { Check } from '../check.ts'
import { responseSplitting } from './hostile-lengths.ts'

export const responseSplittingChecks: readonly Check[] = [responseSplitting]
