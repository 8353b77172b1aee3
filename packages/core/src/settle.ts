import type { Attempt, FinishEvent, Identity, Logger, Plugin, Units } from './config.ts'
import type { EstimatedBy } from './estimate.ts'
import type { Format, Loss, UpstreamFormat, Usage } from './formats/ir.ts'
import { put } from './formats/shared/strict.ts'

/** What is known of a call while it runs; `settle` turns it into the one FinishEvent. */
export interface Ledger {
  readonly requestId: string
  readonly operation: string
  readonly format: Format
  /** By the clock that never goes back. */
  readonly startedAt: number
  /** When the call arrived, in milliseconds since 1970. */
  readonly arrivedAt: number
  identity: Identity | null
  model: string
  stream: boolean
  upstream?: string
  upstreamModel?: string
  upstreamFormat?: UpstreamFormat
  lane?: 'wire' | 'translate'
  losses: readonly Loss[]
  usage?: Usage
  units?: Units
  estimate?: EstimatedBy
  firstEventAt?: number
  readonly attempts: Attempt[]
  finish?: string
  /** Plugins have heard of it: they must hear of its end. */
  announced?: boolean
  /** The gateway has done what it may: whoever tries again only adds to the upstream's load. */
  spent?: boolean
}

export interface Ending {
  readonly status: number
  readonly outcome: FinishEvent['outcome']
  readonly error?: unknown
}

/** Tells every plugin, once for a call. An observer's exception is logged, never thrown. */
export function settle(ledger: Ledger, ending: Ending, plugins: readonly Plugin[], logger: Logger): void {
  // Field by field: a rest pattern and spreads cost as much here as validating the request.
  const event: { -readonly [K in keyof FinishEvent]: FinishEvent[K] } = {
    requestId: ledger.requestId,
    identity: ledger.identity,
    operation: ledger.operation,
    format: ledger.format,
    model: ledger.model,
    stream: ledger.stream,
    status: ending.status,
    outcome: ending.outcome,
    losses: ledger.losses,
    attempts: ledger.attempts,
    startedAt: ledger.arrivedAt,
    durationMs: performance.now() - ledger.startedAt,
  }
  put(event, 'upstream', ledger.upstream)
  put(event, 'upstreamModel', ledger.upstreamModel)
  put(event, 'upstreamFormat', ledger.upstreamFormat)
  put(event, 'lane', ledger.lane)
  put(event, 'finish', ledger.finish)
  put(event, 'usage', ledger.usage)
  put(event, 'units', ledger.units)
  put(event, 'estimate', ledger.estimate)
  put(event, 'error', ending.error)
  if (ledger.firstEventAt !== undefined) event.firstEventMs = ledger.firstEventAt - ledger.startedAt
  for (const plugin of plugins) {
    if (plugin.onFinish === undefined) continue
    try {
      const done = plugin.onFinish(event)
      // Not only promises: query builders return thenables that do nothing until they are awaited.
      if (done !== undefined)
        Promise.resolve(done).catch((error: unknown) =>
          logger.error(`modelgate: onFinish of plugin '${plugin.name}' failed`, error),
        )
    } catch (error) {
      logger.error(`modelgate: onFinish of plugin '${plugin.name}' failed`, error)
    }
  }
}
