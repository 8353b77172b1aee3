import { isThenable, settleWithin, stopReason } from '../base/async.ts'
import type { AdmitCall } from '../config/admission.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { type Admitted, createAdmitCall } from './admission.ts'

/**
 * Calls `extend` of each admission with the whole request, after stored objects were inserted. Throws the error of a plugin that rejects
 * the call.
 */
export async function extendAdmission(call: Admitted, targets: readonly ResolvedTarget[]): Promise<void> {
  const { record, shared, signal } = call
  let event: AdmitCall | undefined
  for (const admission of record.admissions ?? []) {
    if (admission.extend === undefined) continue
    event ??= createAdmitCall(call, targets, undefined)
    const pending: unknown = admission.extend(event)
    if (isThenable(pending))
      await settleWithin(pending, { name: 'extend of an admission', ms: shared.limits.callbackMs, signal })
  }
  if (signal.aborted) throw stopReason(signal)
}
