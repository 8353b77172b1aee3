import { isThenable } from '../../base/async.ts'
import { ignoreRejection, logOncePerMinute, observe, typeNameOf } from '../../base/callbacks.ts'
import type { Logger } from '../../config/config.ts'
import type { Cooldown, CooldownReason, HealthState } from '../../config/stores.ts'

const reasons: ReadonlySet<unknown> = new Set<CooldownReason>(['failing', 'rate_limited', 'quota_exceeded', 'refused'])

/**
 * A host's HealthState that cannot fail a call: where it throws, or returns anything but what it should, nothing is known and the
 * target is ready. It is read several times for each call, so the same failure is logged once a minute.
 */
export const guardedHealthState = (state: HealthState, logger: Logger): HealthState => ({
  read(id) {
    try {
      const rest: unknown = state.read(id)
      if (rest === undefined || rest === null) return undefined
      if (isRest(rest)) return rest
      ignoreRejection(rest)
      const hint = isThenable(rest)
        ? 'answer at once, from a copy in this process'
        : 'return { until, reason } or undefined'
      logOncePerMinute(
        logger,
        `modelgate: health.read returned ${typeNameOf(rest)}: ${hint}. The target is taken to be ready.`,
      )
    } catch (error) {
      logOncePerMinute(logger, 'modelgate: health.read failed; the target is taken to be ready', error)
    }
    return undefined
  },
  write(id, rest) {
    // Writing may take its time: nobody waits for it.
    observe(seldom(logger), 'health.write', () => state.write(id, rest))
  },
})

const seldom = (logger: Logger): Pick<Logger, 'error'> => ({
  error: (message, details) => logOncePerMinute(logger, message, details),
})

const isRest = (value: unknown): value is Cooldown =>
  typeof value === 'object' &&
  value !== null &&
  'until' in value &&
  Number.isFinite(value.until) &&
  'reason' in value &&
  reasons.has(value.reason)
