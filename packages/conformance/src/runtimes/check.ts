import type { FakeProvider } from '@modelgate/testing'
import type { Upstream } from '../base/raw-upstream.ts'
import type { Target } from '../torture/check.ts'
import { inParallel } from '../torture/measurements.ts'
import type { Pin } from './pins.ts'
import type { Project } from './project.ts'

/** A gateway in one runtime with its upstreams. */
export interface RuntimeTarget {
  readonly pin: Pin
  /** Path of the runtime's executable. */
  readonly program: string
  /** Path of this repository. */
  readonly root: string
  readonly project: Project
  readonly origin: string
  /** Token of the only client. */
  readonly token: string
  /** Upstreams of the default gateway at the root. */
  readonly providers: FakeProvider
  /** Upstream of the other gateways, scripted by the checks. */
  readonly scriptedUpstream: Upstream
  /** The default gateway at the root. */
  readonly withDefaults: Target
  /** A gateway without retries and without shared health. */
  readonly strict: Target
  /** Like `strict`, with limits so short that a check can wait for them. */
  readonly withShortLimits: Target
  /** Like `strict`, with a short heartbeat interval. */
  readonly withShortHeartbeat: Target
  /** URL of a Redis; undefined if the machine has none. */
  readonly redis: string | undefined
  /** Includes slow checks. */
  readonly full: boolean
  /** Node's responses by case name; empty while Node itself is checked. */
  readonly reference: Map<string, string>
}

/** Result of a check. */
export type Tally =
  | { readonly held: number; readonly total: number; readonly complaints: readonly string[] }
  /** The runtime does not support the feature, and the documentation states it. */
  | { readonly without: string }

/** One column of the matrix. */
export interface Check {
  readonly name: string
  /** The promise that is checked. */
  readonly promise: string
  run(place: RuntimeTarget): Promise<Tally>
}

/** One case of a check. It rejects or returns the error. */
export interface Case {
  readonly name: string
  /** Resolves to the error, or undefined if the case passed. */
  ask(): Promise<string | undefined>
}

/** Runs all cases, `width` at a time. */
export async function tallyOf(cases: readonly Case[], width = 8): Promise<Tally> {
  const complaints = await inParallel(cases, width, async ({ name, ask }) => {
    const wrong = await ask().catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
    return wrong === undefined ? [] : [`${name}: ${wrong}`]
  })
  const wrong = complaints.flat()
  return { held: cases.length - wrong.length, total: cases.length, complaints: wrong }
}

/** Merges tallies. */
export const mergeTallies = (...tallies: readonly Tally[]): Tally => {
  const counted = tallies.flatMap((tally) => ('without' in tally ? [] : [tally]))
  return {
    held: counted.reduce((sum, { held }) => sum + held, 0),
    total: counted.reduce((sum, { total }) => sum + total, 0),
    complaints: counted.flatMap(({ complaints }) => complaints),
  }
}
