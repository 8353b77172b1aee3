import type { Check } from '../check.ts'
import { clockStep } from './clock-step.ts'
import { stalledReader } from './stalled-reader.ts'

export const clientChecks: readonly Check[] = [stalledReader, clockStep]
