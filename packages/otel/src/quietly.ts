import { diag } from '@opentelemetry/api'

/** Telemetry must never break a call: what goes wrong is told to OpenTelemetry's own diagnostics, and passed over. */
export function quietly<T>(what: string, run: () => T): T | undefined {
  try {
    return run()
  } catch (error) {
    failed(what, error)
    return undefined
  }
}

/** The same for a function of the host's: undefined also where it returns a promise, or another value than it should. */
export function hostValue<T>(what: string, run: () => T | undefined, isGood: (value: T) => boolean): T | undefined {
  return quietly(what, () => {
    const value = run()
    if (value === undefined || value === null) return undefined
    // Its rejection must not end the process; nobody waits for its value.
    if (value instanceof Promise) value.catch(() => {})
    if (value instanceof Promise || !isGood(value))
      throw new TypeError(`it returned ${value instanceof Promise ? 'a promise' : typeof value}, which is ignored`)
    return value
  })
}

function failed(what: string, error: unknown): void {
  try {
    diag.error(`@modelgate/otel: ${what} failed`, error)
  } catch {
    // A diagnostics logger that throws leaves nobody to tell.
  }
}
