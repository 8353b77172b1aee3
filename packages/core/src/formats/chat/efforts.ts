import type { Effort } from '../ir.ts'

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const satisfies readonly Effort[]

export const isEffort = (value: unknown): value is Effort => efforts.some((effort) => effort === value)
