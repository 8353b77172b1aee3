import type { Check } from '../check.ts'

export const streamChecks: readonly Check[] = []
