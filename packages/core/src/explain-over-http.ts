import { decide } from './callbacks.ts'
import type { GatewayConfig, Identity } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Explanation } from './explain.ts'
import type { WireCodec } from './formats/codec.ts'
import type { Inbound } from './inbound.ts'
import type { RequestBody } from './lanes/wire.ts'
import type { Route } from './routes.ts'
import type { Ledger } from './settle.ts'
import type { Setup } from './setup.ts'
import type { Signal } from './signal.ts'

/** Whether a request asks for an explanation: `?modelgate=explain` on a generation path. */
export const asksToExplain = ({ query }: Inbound): boolean =>
  query.includes('modelgate=') && new URLSearchParams(query).get('modelgate') === 'explain'

interface HttpExplainCall {
  readonly setup: Setup
  readonly inbound: Inbound
  readonly ledger: Ledger
  readonly signal: Signal
  readonly route: Route
  readonly codec: WireCodec
  readonly request: RequestBody
}

/**
 * Explains a generation call to its client. No upstream is called and nothing is billed, so the call record gets no model. Throws
 * GatewayError `permission` for identities that the option `explain` does not allow.
 */
export async function explainOverHttp(call: HttpExplainCall): Promise<Explanation> {
  const { setup, inbound, ledger, route, codec, request } = call
  const { model, stream, identity } = ledger
  ledger.model = ''
  if (!(await mayExplain(setup.config.explain, identity, call)))
    throw new GatewayError('permission', 'modelgate=explain: this gateway does not explain calls to this token.')
  const whole = await setup.remembered(route, request, identity)
  const { explain } = await import('./explain.ts')
  const { shared } = setup
  return explain({ shared, inbound, codec, request: whole, model, stream, identity, hidesConfigured: true })
}

const mayExplain = (
  allowed: GatewayConfig['explain'],
  identity: Identity | null,
  { setup: { shared }, signal }: HttpExplainCall,
): boolean | Promise<boolean> =>
  typeof allowed === 'function'
    ? decide(allowed(identity), shared.logger, { name: 'explain', ms: shared.limits.callbackMs, signal })
    : allowed === true
