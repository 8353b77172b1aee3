import type { RequestBody } from '../formats/request-body.ts'
import { type Admitted, admitCall } from './admission.ts'
import { notifyRequest } from './plugin-hooks.ts'
import { recordRequest } from './try-targets.ts'

const noBody: RequestBody = { bytes: new Uint8Array(0), text: '', members: [], value: {}, fields: {} }

/**
 * Admits a call without a model and a body, such as a read of stored state, before a store is read. It counts as a request without tokens.
 *
 * @throws GatewayError of the plugin that rejects the call
 */
export async function admitWithoutModel({ shared, record, inbound, signal }: Omit<Admitted, 'request'>): Promise<void> {
  const admitted = { shared, record, inbound, signal, request: noBody }
  recordRequest(admitted)
  notifyRequest(admitted)
  await admitCall(admitted, [])
}
