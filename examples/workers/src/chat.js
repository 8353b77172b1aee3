// A smaller Worker: chat completions in OpenAI's format only. Without a provider key a fake provider responds.
import { adapterFunctions } from '@modelgate/core/adapter'
import { createGateway, openai } from '@modelgate/core/chat'
import { createFakeProvider } from '@modelgate/testing'

/** @typedef {{ OPENAI_API_KEY?: string, MODELGATE_TOKEN?: string }} Env */

/** @param {Env} env */
function gatewayOf({ OPENAI_API_KEY, MODELGATE_TOKEN }) {
  const isDemo = OPENAI_API_KEY === undefined
  if (isDemo) console.log('Demo: no provider key is set, so a fake provider responds.')
  // The token 'demo-token' is public: only the demo accepts it. With a provider key, set MODELGATE_TOKEN.
  const wanted = MODELGATE_TOKEN ?? (isDemo ? 'demo-token' : undefined)
  return createGateway({
    auth: (token) => (token === wanted ? { id: 'me' } : null),
    upstreams: { openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }) },
    models: { '*': 'openai' },
    ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
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
    return pathname === '/' ? new Response('The rest of your app.') : new Response('Not found', { status: 404 })
  },
}
