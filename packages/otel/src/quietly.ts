import { diag } from '@opentelemetry/api'

/** Telemetry must never break a call: what goes wrong is told to OpenTelemetry's own diagnostics, and passed over. */
export function quietly<T>(what: string, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    try {
      diag.error(`@modelgate/otel: ${what} failed`, error)
    } catch {
      // A diagnostics logger that throws leaves nobody to tell.
    }
    return undefined
  }
}
