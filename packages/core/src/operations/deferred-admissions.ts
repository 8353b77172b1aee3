import { observe, observedValue } from '../base/callbacks.ts'
import { deferringPlugin } from '../calls/admission.ts'
import type { Admission } from '../config/admission.ts'
import type { Logger } from '../config/config.ts'
import type { Plugin } from '../config/plugin.ts'

/** A plugin's reservation for work that ends after its call. It is stored until then. */
export interface DeferredReservation {
  readonly plugin: string
  readonly reservation: string
}

/** Defers an admission. Returns its reservation; nothing if `defer` fails, and the reservation then stays counted. */
export function deferAdmission(logger: Logger, admission: Admission): readonly DeferredReservation[] {
  const reservation = observedValue(logger, 'defer', () => admission.defer?.())
  const plugin = deferringPlugin(admission)
  return typeof reservation === 'string' && plugin !== undefined ? [{ plugin, reservation }] : []
}

/** Returns the admission of a reservation from its plugin, perhaps in another process than the one that deferred it. */
export function resumeAdmission(
  plugins: readonly Plugin[],
  logger: Logger,
  { plugin: name, reservation }: DeferredReservation,
): readonly Admission[] {
  const plugin = plugins.find((one) => one.name === name && one.resume !== undefined)
  if (plugin === undefined) {
    logger.warn(`modelgate: no plugin '${name}' is left to settle deferred work; its reservation stays counted`)
    return []
  }
  let admission: Admission | undefined
  observe(
    logger,
    'resume',
    () => {
      admission = plugin.resume?.(reservation)
    },
    plugin,
  )
  return admission === undefined ? [] : [admission]
}
