import type { Check } from '../check.ts'
import { redirect } from './redirect.ts'

export const faultChecks: readonly Check[] = [redirect]
