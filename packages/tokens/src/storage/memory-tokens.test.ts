import { createMemoryTokens } from './memory-tokens.ts'
import { describeTokenStore } from './token-store.test-support.ts'

describeTokenStore('memory', () => ({ store: createMemoryTokens(), close: async () => {} }))
