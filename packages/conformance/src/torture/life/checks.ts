import type { Check } from '../check.ts'

export const lifeChecks: readonly Check[] = []
