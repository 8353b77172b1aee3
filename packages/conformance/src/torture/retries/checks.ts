import type { Check } from '../check.ts'

export const retryChecks: readonly Check[] = []
