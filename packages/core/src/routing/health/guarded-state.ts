import { ignoreRejection, isThenable } from '../../base/async.ts'
import { logOncePerMinute, observe, typeNameOf } from '../../base/callbacks.ts'
import type { Logger } from '../../config/config.ts'
import type { Cooldown, CooldownReason, HealthState } from '../../config/stores.ts'

const reasons: ReadonlySet<unknown> = new Set<CooldownReason>(['failing', 'rate_limited', 'quota_exceeded', 'refused'])

/**
 * Wraps a host's HealthState so that it cannot fail a call: if it throws or returns an invalid value, the target counts as ready. It is
 * read several times per call, so each failure is logged at most once a minute.
 */
export const guardedHealthState = (state: HealthState, logger: Logger): HealthState => ({
  read(id) {
    try {
      const cooldown: unknown = state.read(id)
      if (cooldown === undefined || cooldown === null) return undefined
      if (isCooldown(cooldown)) return cooldown
      ignoreRejection(cooldown)
      const hint = isThenable(cooldown)
        ? 'return the value synchronously, from a copy in this process'
        : 'return { until, reason } or undefined'
      logOncePerMinute(
        logger,
        `modelgate: health.read returned ${typeNameOf(cooldown)}: ${hint}. The target is treated as ready.`,
      )
    } catch (error) {
      logOncePerMinute(logger, 'modelgate: health.read failed; the target is treated as ready', error)
    }
    return undefined
  },
  write(id, cooldown) {
    // Not awaited: no call depends on it.
    observe(throttled(logger), 'health.write', () => state.write(id, cooldown))
  },
})

const throttled = (logger: Logger): Pick<Logger, 'error'> => ({
  error: (message, details) => logOncePerMinute(logger, message, details),
})

const isCooldown = (value: unknown): value is Cooldown =>
  typeof value === 'object' &&
  value !== null &&
  'until' in value &&
  Number.isFinite(value.until) &&
  'reason' in value &&
  reasons.has(value.reason)
