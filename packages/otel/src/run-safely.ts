import { diag } from '@opentelemetry/api'

/** Runs telemetry code and reports its exceptions to OpenTelemetry's diagnostics: telemetry must never break a call. */
export function runSafely<T>(what: string, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    reportFailure(what, error)
    return undefined
  }
}

/** Does the same for a function of the host. A promise or a value of the wrong type counts as undefined. */
export function callHost<T>(what: string, run: () => T | undefined, isGood: (value: T) => boolean): T | undefined {
  return runSafely(what, () => {
    const value = run()
    if (value === undefined || value === null) return undefined
    // A rejection must not end the process, and the value is not awaited.
    if (value instanceof Promise) value.catch(() => {})
    if (value instanceof Promise || !isGood(value))
      throw new TypeError(`it returned ${value instanceof Promise ? 'a promise' : typeof value}, which is ignored`)
    return value
  })
}

function reportFailure(what: string, error: unknown): void {
  try {
    diag.error(`@modelgate/otel: ${what} failed`, error)
  } catch {
    // If the diagnostics logger throws, there is nowhere left to report.
  }
}
