import { decide } from './callbacks.ts'
import type { GatewayConfig, Identity } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Explanation } from './explain.ts'
import type { Inbound } from './inbound.ts'
import type { RequestBody } from './lanes/wire.ts'
import type { RoutedCall } from './operations/handler.ts'

/** Whether a request asks for an explanation: `?modelgate=explain` on a generation path. */
export const asksToExplain = ({ query }: Inbound): boolean =>
  query.includes('modelgate=') && new URLSearchParams(query).get('modelgate') === 'explain'

/**
 * Explains a generation call to its client. No upstream is called and nothing is billed, so the call record gets no model. Throws
 * GatewayError `permission` for identities that the option `explain` does not allow.
 */
export async function explainOverHttp(call: RoutedCall, request: RequestBody): Promise<Explanation> {
  const { setup, ledger } = call
  ledger.model = ''
  if (!(await mayExplain(setup.config.explain, ledger.identity, call)))
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
