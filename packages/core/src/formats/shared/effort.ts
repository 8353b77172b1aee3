import type { Effort } from '../ir.ts'

/**
 * The effort that comes nearest to a budget of reasoning tokens. Only the three words that every reasoning model knows
 * are used. An approximation: report it as one.
 */
export const effortOfBudget = (tokens: number): Effort => (tokens <= 4096 ? 'low' : tokens <= 16384 ? 'medium' : 'high')

const rising: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The nearest of the accepted efforts, the higher of two equally near. Reasoning is never switched off by being near. */
export function nearestEffort(wanted: Effort, accepted: readonly Effort[]): Effort | undefined {
  if (accepted.includes(wanted)) return wanted
  const rank = (word: Effort): number => rising.indexOf(word)
  const able = accepted.filter((word) => word !== 'none')
  let best: Effort | undefined
  for (const word of able.sort((a, b) => rank(b) - rank(a)))
    if (best === undefined || Math.abs(rank(word) - rank(wanted)) < Math.abs(rank(best) - rank(wanted))) best = word
  return best
}
