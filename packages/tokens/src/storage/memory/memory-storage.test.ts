import { describeTokenStore } from '../token-store.test-support.ts'
import { createMemoryTokens } from './memory-storage.ts'

describeTokenStore('memory', () => ({ store: createMemoryTokens(), close: async () => {} }))
