import type { Attempt, FinishEvent, Identity, Logger, Plugin } from './config.ts'
import type { Format, Loss, Usage } from './formats/ir.ts'

/** What is known of a call while it runs; `settle` turns it into the one FinishEvent. */
export interface Ledger {
  readonly requestId: string
  readonly operation: string
  readonly format: Format
  readonly startedAt: number
  identity: Identity | null
  model: string
  stream: boolean
  upstream?: string
  upstreamModel?: string
  upstreamFormat?: Format
  lane?: 'wire' | 'translate'
  losses: readonly Loss[]
  usage?: Usage
  firstEventAt?: number
  readonly attempts: Attempt[]
}

export interface Ending {
  readonly status: number
  readonly outcome: FinishEvent['outcome']
  readonly error?: unknown
}

/** Tells every plugin, once for a call. An observer's exception is logged, never thrown. */
export function settle(ledger: Ledger, ending: Ending, plugins: readonly Plugin[], logger: Logger): void {
  const { startedAt, firstEventAt, ...known } = ledger
  const event: FinishEvent = {
    ...known,
    ...ending,
    durationMs: performance.now() - startedAt,
    ...(firstEventAt === undefined ? {} : { firstEventMs: firstEventAt - startedAt }),
  }
  for (const plugin of plugins) {
    if (plugin.onFinish === undefined) continue
    try {
      const done = plugin.onFinish(event)
      if (done instanceof Promise)
        done.catch((error: unknown) => logger.error(`modelgate: onFinish of plugin '${plugin.name}' failed`, error))
    } catch (error) {
      logger.error(`modelgate: onFinish of plugin '${plugin.name}' failed`, error)
    }
  }
}
