import type { Settings } from '../config/settings.ts'

/** A running server. */
export interface Serving {
  readonly port: number
  /** Reloads the configuration and logs the result. Returns whether the new one is active. */
  reload(): Promise<boolean>
  /**
   * Completes in-flight calls and closes all resources.
   *
   * @param reason reason for the log, such as the signal
   * @param hint how to force quit
   */
  stop(reason?: string, hint?: string): Promise<void>
}

/** Stops a server and logs how long it took. */
export async function timedStop({ resources }: Settings, stop: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  await stop()
  const { plugin } = resources.log
  plugin.logger.info(`Server stopped after ${Math.round(performance.now() - startedAt)} ms`, { event: 'stopped' })
  plugin.flush()
}
