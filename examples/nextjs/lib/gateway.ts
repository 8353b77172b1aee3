// Without provider keys a fake provider responds.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODELGATE_TOKEN } = process.env
const isDemo = OPENAI_API_KEY === undefined && ANTHROPIC_API_KEY === undefined
if (isDemo) console.log('Demo: no provider key is set, so a fake provider responds.')
else if (OPENAI_API_KEY === undefined || ANTHROPIC_API_KEY === undefined)
  console.log('Only one provider key is set, so calls to the other provider fail.')
// The token 'demo-token' is public: only the demo accepts it. With a provider key, set MODELGATE_TOKEN.
const wanted = MODELGATE_TOKEN ?? (isDemo ? 'demo-token' : undefined)

export const gateway = createGateway({
  basePath: '/ai', // folder of the route
  auth: (token) => (token === wanted ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude', fast: { upstream: 'openai', model: 'gpt-5-mini' } },
  ...(isDemo ? { fetch: createFakeProvider().fetch } : {}),
})
