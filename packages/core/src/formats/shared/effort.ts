import type { Effort } from '../ir.ts'

/**
 * The effort that comes nearest to a budget of reasoning tokens. Only the three words that every reasoning model knows
 * are used. An approximation: report it as one.
 */
export const effortOfBudget = (tokens: number): Effort => (tokens <= 4096 ? 'low' : tokens <= 16384 ? 'medium' : 'high')
