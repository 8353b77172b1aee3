import { table } from '../terminal/format.ts'
import type { UpstreamCheck } from './check-upstream.ts'

/** The output of `check --json`. */
export interface CheckReport {
  readonly ok: boolean
  readonly config: string
  /** Errors of the configuration. If there are any, no upstream was called. */
  readonly error?: string
  readonly upstreams: readonly CheckedUpstream[]
  readonly warnings: readonly string[]
}

export interface CheckedUpstream {
  readonly name: string
  readonly host: string
  readonly state: UpstreamCheck['state']
  readonly detail?: string
  /** Number of listed models. */
  readonly models?: number
  readonly ms?: number
}

const marks = { ok: 'ok', skipped: '–', failed: 'FAILED' } as const

/** Formats a report for the terminal. */
export function reportText({ config, error, upstreams, warnings, ok }: CheckReport): string {
  if (error !== undefined) return `Invalid configuration: ${error}`
  const failed = upstreams.filter(({ state }) => state === 'failed').length
  return [
    `Configuration: ${config}`,
    '',
    table(
      ['UPSTREAM', 'ADDRESS', 'STATE', 'MODELS', 'MS', ''],
      upstreams.map(({ name, host, state, models, ms, detail = '' }) => [
        name,
        host,
        marks[state],
        models === undefined ? '' : String(models),
        ms === undefined ? '' : String(ms),
        detail,
      ]),
    ),
    ...warnings.flatMap((warning) => ['', `Warning: ${warning}.`.replace(/\?\.$/, '?')]),
    '',
    ok ? 'All upstreams OK.' : `${failed} of ${upstreams.length} upstreams failed.`,
  ].join('\n')
}
