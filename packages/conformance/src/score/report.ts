import { version } from '../../package.json'
import { formats, type ScoredFormat, type Verdict } from './check.ts'
import type { Target } from './context.ts'
import { type ModelKind, modelKinds } from './models.ts'

/** Result of one check. */
export interface Result {
  /** Full name, such as `chat/stream-usage`. */
  readonly name: string
  readonly format: ScoredFormat
  readonly feature: string
  readonly proves: string
  readonly verdict: Verdict
  /** Reason in one line; undefined if the check passed. */
  readonly why: string | undefined
  readonly ms: number
}

/** Result of one format. */
export interface FormatScore {
  readonly format: ScoredFormat
  readonly title: string
  readonly passed: number
  /** Number of passed and failed checks: the base of the score. */
  readonly total: number
  readonly notServed: number
  readonly skipped: number
}

/** Result of a run. */
export interface Report {
  /** Version of this package: the checks differ between versions. */
  readonly version: string
  readonly url: string
  readonly models: Readonly<Record<string, string>>
  /** Start time, as ISO 8601. */
  readonly at: string
  readonly ms: number
  /** Number of HTTP calls. */
  readonly calls: number
  readonly passed: number
  readonly total: number
  /** Percentage of passed checks among passed and failed ones, rounded down to a tenth; 0 if there are none. */
  readonly score: number
  readonly formats: readonly FormatScore[]
  readonly results: readonly Result[]
}

const count = (results: readonly Result[], verdict: Verdict): number =>
  results.filter((result) => result.verdict === verdict).length

/** Creates the report of a run. */
export function reportOf(
  target: Target,
  results: readonly Result[],
  { begun, calls, kinds }: { begun: number; calls: number; kinds: ReadonlySet<ModelKind> },
): Report {
  const shares = (Object.keys(formats) as ScoredFormat[]).flatMap((format): FormatScore[] => {
    const own = results.filter((result) => result.format === format)
    if (own.length === 0) return []
    const passed = count(own, 'passed')
    return [
      {
        format,
        title: formats[format],
        passed,
        total: passed + count(own, 'failed'),
        notServed: count(own, 'not served'),
        skipped: count(own, 'skipped'),
      },
    ]
  })
  const passed = count(results, 'passed')
  const total = passed + count(results, 'failed')
  const named = modelKinds.flatMap((kind) =>
    target.models[kind] === undefined || !kinds.has(kind) ? [] : [[kind, target.models[kind]]],
  )
  return {
    version,
    url: target.origin,
    models: { ...Object.fromEntries(named), ...target.modelOf },
    at: new Date(begun).toISOString(),
    ms: Date.now() - begun,
    calls,
    passed,
    total,
    score: total === 0 ? 0 : Math.floor((passed * 1000) / total) / 10,
    formats: shares,
    results,
  }
}
