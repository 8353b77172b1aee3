import type { Check } from '../check.ts'

export const secretChecks: readonly Check[] = []
