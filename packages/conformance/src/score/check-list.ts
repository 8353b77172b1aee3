import type { ScoredFormat } from './check.ts'
import { checks, nameOf } from './checks.ts'

/** A check as it is told of. */
export interface CheckInfo {
  readonly name: string
  readonly format: ScoredFormat
  readonly feature: string
  /** The fact that a pass proves. */
  readonly proves: string
  /** How many calls it makes, at most. */
  readonly calls: number
}

/** Everything that `score` asks, in order. */
export const checkList: readonly CheckInfo[] = checks.map((check) => {
  const { format, feature, proves, calls } = check
  return { name: nameOf(check), format, feature, proves, calls }
})
