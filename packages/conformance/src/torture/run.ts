import { startUpstream, type Upstream } from '../base/raw-upstream.ts'
import type { Check, CheckContext, LocalGateway, Target } from './check.ts'
import { startLocalTarget } from './local-target.ts'
import type { Row } from './report.ts'

export interface RunOptions {
  readonly checks: readonly Check[]
  readonly short: boolean
  /** Port of the upstream, for gateways started by others. Default: any free port. */
  readonly upstreamPort?: number
  /** Called after each row. */
  onRow?(row: Row): void
}

/**
 * Maximum number of attempts of a failing row in the short form with our own gateway. It runs on busy machines, and
 * many figures are times: effects of the machine do not repeat, effects of the gateway do.
 */
const askings = 3

const fellShort = ({ outcome }: Row): boolean => !('skipped' in outcome) && !outcome.held

/** Adds the number of attempts to the figure. */
const reported = (row: Row, attempts: number): Row =>
  'skipped' in row.outcome
    ? row
    : { ...row, outcome: { ...row.outcome, figure: `${row.outcome.figure} (${attempts} attempts)` } }

/** Time limit of a row, in minutes. */
const patience = 20

/**
 * Checks one gateway row by row, so that no check disturbs another's figures.
 *
 * @param start starts the gateway, given the upstream's origin
 */
export async function torture(
  start: (upstreamOrigin: string) => Promise<Target>,
  { checks, short, upstreamPort = 0, onRow }: RunOptions,
): Promise<readonly Row[]> {
  const upstream = await startUpstream(upstreamPort)
  const rows: Row[] = []
  try {
    const target = await start(upstream.origin)
    try {
      for (const check of checks) {
        let row = await askFor(check, target, upstream, short)
        const most = short && target.local !== undefined ? askings : 1
        for (let attempts = 1; fellShort(row) && attempts < most; attempts++)
          row = reported(await askFor(check, target, upstream, short), attempts + 1)
        rows.push(row)
        onRow?.(row)
      }
    } finally {
      await target.stop()
    }
  } finally {
    await upstream.close()
  }
  return rows
}

async function askFor(check: Check, target: Target, upstream: Upstream, short: boolean): Promise<Row> {
  const started: (Target & { readonly local: LocalGateway })[] = []
  const setting: CheckContext = {
    target,
    upstream,
    short,
    count: (full, few) => (short ? few : full),
    async fresh(profile) {
      if (target.local === undefined) return undefined
      const one = await startLocalTarget(target.local.server, upstream.origin, profile)
      started.push(one)
      return one
    },
  }
  const begun = performance.now()
  const seconds = (): number => (performance.now() - begun) / 1000
  let timer: NodeJS.Timeout | undefined
  try {
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no figure after ${patience} minutes`)), patience * 60_000)
    })
    const outcome = await Promise.race([check.run(setting), tooLong])
    return { check, outcome, seconds: seconds() }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { check, outcome: { held: false, figure: `the check itself failed: ${text}` }, seconds: seconds() }
  } finally {
    clearTimeout(timer)
    await Promise.all(started.map((one) => one.stop()))
  }
}
