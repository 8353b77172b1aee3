// Without provider keys a fake provider responds.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODELGATE_TOKEN } = process.env
const hasKeys = OPENAI_API_KEY !== undefined || ANTHROPIC_API_KEY !== undefined
// This public token is accepted only with the fake provider.
const wanted = MODELGATE_TOKEN ?? (hasKeys ? undefined : 'demo-token')

export const gateway = createGateway({
  basePath: '/ai', // folder of the route
  auth: (token) => (token === wanted ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude', fast: { upstream: 'openai', model: 'gpt-5-mini' } },
  ...(hasKeys ? {} : { fetch: createFakeProvider().fetch }),
})
