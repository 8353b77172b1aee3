// A user's TypeScript with AI SDK. Compiled as an ES module only: the newest packages of AI SDK have no CommonJS.

import { createModelgate, type ModelgateProvider } from '@modelgate/ai-sdk'
import { createGateway, openai } from '@modelgate/core'

const gateway = createGateway({
  auth: 'none',
  upstreams: { openai: openai({ apiKey: 'any' }) },
  models: { '*': 'openai' },
})
const modelgate: ModelgateProvider = createModelgate(gateway, { apiKey: async () => 'token' })
const version: 'v3' | 'v4' = modelgate.specificationVersion
export const models = [modelgate('gpt-5'), modelgate.embeddingModel('text-embedding-3-small'), version]
// @ts-expect-error an unknown format is a compile error
export const misspelt = () => createModelgate(gateway, { format: 'openai' })
