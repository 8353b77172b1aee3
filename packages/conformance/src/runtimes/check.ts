import type { FakeProvider } from '@modelgate/testing'
import type { Upstream } from '../base/raw-upstream.ts'
import type { Target } from '../torture/check.ts'
import { inParallel } from '../torture/measurements.ts'
import type { Pin } from './pins.ts'
import type { Project } from './project.ts'

/** A gateway in one runtime, and what stands behind it. */
export interface Place {
  readonly pin: Pin
  /** The runtime's program. */
  readonly program: string
  /** Path of this repository. */
  readonly root: string
  readonly project: Project
  readonly origin: string
  /** The token of the one client. */
  readonly token: string
  /** Behind the gateway at the root, which has everything on that is on by default. */
  readonly providers: FakeProvider
  /** Behind the others: plays what a check wants. */
  readonly stage: Upstream
  /** At the root. */
  readonly plain: Target
  /** Each call by itself: no second tries, no memory of failures. */
  readonly strict: Target
  /** The same, with limits so short that a check can wait for them. */
  readonly hasty: Target
  /** The same as `strict`, with heartbeats that come soon. */
  readonly beating: Target
  /** Address of a Redis; undefined if the machine has none. */
  readonly redis: string | undefined
  /** Includes slow checks. */
  readonly full: boolean
  /** The answers that Node gave, by the case's name; empty while Node itself is asked. */
  readonly reference: Map<string, string>
}

/** Result of a check. */
export type Tally =
  | { readonly held: number; readonly asked: number; readonly complaints: readonly string[] }
  /** The runtime has none of what is asked for, and the documents say so. */
  | { readonly without: string }

/** One column of the matrix. */
export interface Check {
  readonly name: string
  /** The promise that is checked. */
  readonly promise: string
  run(place: Place): Promise<Tally>
}

/** A thing that a check asks: it rejects, or says what is wrong. */
export interface Case {
  readonly name: string
  /** Undefined: nothing is wrong. */
  ask(): Promise<string | undefined>
}

/** Asks all of them, `width` at a time. */
export async function tallyOf(cases: readonly Case[], width = 8): Promise<Tally> {
  const complaints = await inParallel(cases, width, async ({ name, ask }) => {
    const wrong = await ask().catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
    return wrong === undefined ? [] : [`${name}: ${wrong}`]
  })
  const wrong = complaints.flat()
  return { held: cases.length - wrong.length, asked: cases.length, complaints: wrong }
}

/** Merges tallies. */
export const together = (...tallies: readonly Tally[]): Tally => {
  const counted = tallies.flatMap((tally) => ('without' in tally ? [] : [tally]))
  return {
    held: counted.reduce((sum, { held }) => sum + held, 0),
    asked: counted.reduce((sum, { asked }) => sum + asked, 0),
    complaints: counted.flatMap(({ complaints }) => complaints),
  }
}
