import type { GatewayConfig } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import { fullEdition } from './full-edition.ts'
import type { Gateway } from './gateway.ts'
import { startGateway } from './start-gateway.ts'

/**
 * Creates a gateway. Translators and the checks of bodies load in the background; a call that arrives earlier waits for those it needs
 * (docs/decisions/0018).
 *
 * @throws TypeError for an invalid configuration, with what to write instead
 *
 * @example
 * const gateway = createGateway({
 *   auth: (token) => (token === process.env.TOKEN ? { id: 'me' } : null),
 *   upstreams: { openai: openai({ apiKey }), claude: anthropic({ apiKey }) },
 *   models: { 'gpt-*': 'openai', 'claude-*': 'claude' },
 * })
 */
export function createGateway<const U extends string, I extends Identity = Identity>(
  options: GatewayConfig<U, I>,
): Gateway {
  return startGateway(fullEdition, options)
}
