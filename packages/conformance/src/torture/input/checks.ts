import type { Check } from '../check.ts'

export const inputChecks: readonly Check[] = []
