import type { Check } from '../check.ts'
import { linearCost } from './linear-cost.ts'

export const complexityChecks: readonly Check[] = [linearCost]
