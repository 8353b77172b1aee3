import type { GatewayConfig } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import { chatEdition } from './chat-edition.ts'
import type { Gateway } from './gateway.ts'
import { startGateway } from './start-gateway.ts'

/**
 * Creates a gateway that serves chat completions and the list of models, from upstreams that speak OpenAI's chat format. It translates
 * nothing. All other paths respond with an error that names the import with everything, `@modelgate/core`.
 *
 * @throws TypeError for an invalid configuration, with what to write instead
 *
 * @example
 * import { createGateway, openai } from '@modelgate/core/chat'
 *
 * const gateway = createGateway({
 *   auth: (token) => (token === env.TOKEN ? { id: 'me' } : null),
 *   upstreams: { openai: openai({ apiKey: env.OPENAI_API_KEY }) },
 *   models: { 'gpt-*': 'openai' },
 * })
 */
export function createGateway<const U extends string, I extends Identity = Identity>(
  options: GatewayConfig<U, I>,
): Gateway {
  return startGateway(chatEdition, options)
}
