import { createMemoryMeters } from '../meters/memory-meters.ts'
import { createMemoryTokens } from './memory-tokens.ts'
import type { Storage } from './storage.ts'

/** Tokens and counts in the memory of this process: gone with it. For tests, and for tokens that a process issues for itself. */
export function memoryStorage(): Storage {
  return { tokens: createMemoryTokens(), meters: createMemoryMeters(), close: async () => {} }
}
