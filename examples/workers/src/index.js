// The gateway as a Cloudflare Worker. Without provider keys a fake provider responds.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { createFakeProvider } from '@modelgate/testing'

/** @typedef {{ OPENAI_API_KEY?: string, ANTHROPIC_API_KEY?: string, MODELGATE_TOKEN?: string }} Env */

/** @param {Env} env */
function gatewayOf({ OPENAI_API_KEY, ANTHROPIC_API_KEY, MODELGATE_TOKEN }) {
  const hasKeys = OPENAI_API_KEY !== undefined || ANTHROPIC_API_KEY !== undefined
  // This public token is accepted only with the fake provider.
  const wanted = MODELGATE_TOKEN ?? (hasKeys ? undefined : 'demo-token')
  return createGateway({
    auth: (token) => (token === wanted ? { id: 'me' } : null),
    upstreams: {
      openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
      claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
    },
    models: { 'gpt-*': 'openai', 'claude-*': 'claude', fast: { upstream: 'openai', model: 'gpt-5-mini' } },
    ...(hasKeys ? {} : { fetch: createFakeProvider().fetch }),
  })
}

/** One gateway for all requests: it keeps the cooldowns of upstreams. @type {ReturnType<typeof gatewayOf> | undefined} */
let gateway

export default {
  /** @param {Request} request @param {Env} env */
  fetch(request, env) {
    gateway ??= gatewayOf(env)
    const { pathname } = new URL(request.url)
    if (adapterFunctions(gateway).match(request.method, pathname) !== null) return gateway.fetch(request)
    return pathname === '/' ? new Response('The app goes on as before.') : new Response('Not found', { status: 404 })
  },
}
