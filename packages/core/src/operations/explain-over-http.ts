import { decide } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Explanation } from '../config/explanation.ts'
import type { Identity } from '../config/identity.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound } from '../http/inbound.ts'
import type { RoutedCall } from './handler.ts'

/** Whether a request asks for an explanation: `?modelgate=explain` on a generation path. */
export const asksToExplain = ({ query }: Inbound): boolean =>
  query.includes('modelgate=') && new URLSearchParams(query).get('modelgate') === 'explain'

/**
 * Explains a generation call to its client. No upstream is called and nothing is billed, so the call record gets no model. Throws
 * GatewayError `permission` for identities that the option `explain` does not allow.
 */
export async function explainOverHttp(call: RoutedCall, request: RequestBody): Promise<Explanation> {
  const { setup, record } = call
  record.model = ''
  if (!(await mayExplain(setup.config.explain, record.identity, call)))
    throw new GatewayError('permission', 'modelgate=explain: this gateway does not explain calls to this token.')
  const { explain } = await import('./explain.ts')
  return explain(call, request, true)
}

const mayExplain = (
  allowed: GatewayConfig['explain'],
  identity: Identity | null,
  { shared, signal }: RoutedCall,
): boolean | Promise<boolean> =>
  typeof allowed === 'function'
    ? decide(allowed(identity), shared.logger, { name: 'explain', ms: shared.limits.callbackMs, signal })
    : allowed === true
