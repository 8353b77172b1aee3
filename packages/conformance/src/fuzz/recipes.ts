import fc, { type Arbitrary } from 'fast-check'
import type { Step } from './json-mutations.ts'
import type { RequestRecipe } from './requests.ts'
import type { StreamRecipe } from './streams.ts'
import type { PlayRecipe } from './upstream.ts'

// Every case is derived from numbers, which are fast to generate and easy to shrink.

const number = fc.nat(0xffff)
/** An index into a table, with uniform distribution. */
export const choice: Arbitrary<number> = fc.noBias(number)
/** A list of mutations with a maximum length. */
export const stepsUpTo = (most: number): Arbitrary<Step[]> =>
  fc.noBias(fc.array(fc.tuple(number, number, number), { maxLength: most, size: 'max' }))

/** Generates the usual value, and rarely another. @param weight ratio of usual to rare */
export const rarely = <T>(rare: Arbitrary<T>, usual: T, weight: number): Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rare })

export const requestRecipes: Arbitrary<RequestRecipe> = fc.record({
  base: choice,
  steps: stepsUpTo(4),
  bytes: rarely(stepsUpTo(2), [], 4),
  // An invalid head ends most calls.
  head: rarely(stepsUpTo(2), [], 6),
})

export const streamRecipes: Arbitrary<StreamRecipe> = fc.record({
  base: choice,
  events: stepsUpTo(2),
  within: fc.array(fc.tuple(choice, fc.tuple(choice, choice, choice)), { maxLength: 3, size: 'max' }),
  bytes: rarely(stepsUpTo(2), [], 3),
  layout: choice,
})

/** @param weight ratio of ordinary to mutated response heads */
export const playRecipes = (weight: number): Arbitrary<PlayRecipe> =>
  fc.record({ head: rarely(fc.array(choice, { maxLength: 3 }), [], weight), cuts: choice, ending: choice })
