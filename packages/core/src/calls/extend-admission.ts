import { isThenable, settleWithin, stopReason } from '../base/async.ts'
import type { AdmitCall } from '../config/admission.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { type Admitted, createAdmitCall, invalidHeader } from './admission.ts'

/**
 * Calls `extend` of each admission with the whole request, after stored objects were inserted. Throws the error of a plugin that rejects
 * the call.
 */
export async function extendAdmission(call: Admitted, targets: readonly ResolvedTarget[]): Promise<void> {
  const { record, shared, signal } = call
  let event: AdmitCall | undefined
  const { admissions = [] } = record
  for (const [at, admission] of admissions.entries()) {
    if (admission.extend === undefined) continue
    event ??= createAdmitCall(call, targets, undefined)
    const pending: unknown = admission.extend(event)
    if (isThenable(pending))
      await settleWithin(pending, { name: 'extend of an admission', ms: shared.limits.callbackMs, signal })
    const bad = invalidHeader(admission)
    if (bad === undefined) continue
    // The error must not carry the header either.
    admissions[at] = { settle: (event) => admission.settle?.(event) }
    throw new TypeError(`extend of an admission set the header '${bad}', which cannot be sent`)
  }
  if (signal.aborted) throw stopReason(signal)
}
