import type { Check } from '../check.ts'
import { healthIsolation } from './failing-caller.ts'

export const healthIsolationChecks: readonly Check[] = [healthIsolation]
