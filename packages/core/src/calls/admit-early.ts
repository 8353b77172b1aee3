import type { ModelNamingCall } from '../routing/router.ts'
import { admitCall } from './admission.ts'
import type { TargetCall } from './call.ts'
import { notifyRequest } from './plugin-hooks.ts'
import { planFor, recordRequest } from './try-targets.ts'

/**
 * Admits a call whose references to stored objects are read next: a caller that exceeds its limits must not make the store work. A call is
 * admitted once; `tryTargets` only extends the admission of a request that has grown since.
 *
 * @throws GatewayError as `planFor` and `admitCall` do
 */
export async function admitEarly(
  call: Pick<TargetCall, 'shared' | 'inbound' | 'record' | 'signal'> & ModelNamingCall,
): Promise<void> {
  const { record, shared } = call
  recordRequest(call)
  const plan = planFor(call)
  record.admittedRequest = call.request
  if (shared.plugins.length === 0) return
  notifyRequest(call)
  await admitCall(call, plan.targets)
}
