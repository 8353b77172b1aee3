import { table } from '../table.ts'
import type { Answer } from './ask.ts'

/** What `check --json` prints. */
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
  readonly state: Answer['state']
  readonly detail?: string
  /** How many models it lists. */
  readonly models?: number
  readonly ms?: number
}

const marks = { ok: 'ok', 'not asked': '–', failed: 'FAILED' } as const

/** A report for people. */
export function reportText({ config, error, upstreams, warnings, ok }: CheckReport): string {
  if (error !== undefined) return `The configuration cannot be: ${error}`
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
    ok ? 'All is well.' : `${failed} of ${upstreams.length} upstreams cannot be used as they are.`,
  ].join('\n')
}
