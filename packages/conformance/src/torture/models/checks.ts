import type { Check } from '../check.ts'
import { modelMatrix } from './model-matrix.ts'

export const modelChecks: readonly Check[] = [modelMatrix]
