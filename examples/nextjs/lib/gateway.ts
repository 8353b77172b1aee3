// Without keys the answers come from a fake provider.
import { anthropic, createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'

const { OPENAI_API_KEY, ANTHROPIC_API_KEY, MODELGATE_TOKEN = 'demo-token' } = process.env
const hasKeys = OPENAI_API_KEY !== undefined || ANTHROPIC_API_KEY !== undefined

export const gateway = createGateway({
  basePath: '/ai', // the folder of the route
  auth: (token) => (token === MODELGATE_TOKEN ? { id: 'me' } : null),
  upstreams: {
    openai: openai({ apiKey: OPENAI_API_KEY ?? 'no key' }),
    claude: anthropic({ apiKey: ANTHROPIC_API_KEY ?? 'no key' }),
  },
  models: { 'gpt-*': 'openai', 'claude-*': 'claude', fast: { upstream: 'openai', model: 'gpt-5-mini' } },
  ...(hasKeys ? {} : { fetch: createFakeProvider().fetch }),
})
