import type { Prompt } from './prompt.ts'
import type { Script } from './script.ts'

/** Options of `createFakeProvider`. */
export interface FakeProviderOptions {
  /** Accepted key, or a check. Default: any key that is not empty. */
  apiKey?: string | ((key: string) => boolean)
  /**
   * Existing model names; others return 404. Default: every name exists, and a demo name for each format and operation is listed.
   */
  models?: readonly string[]
  /**
   * Checks requests as the real provider does (required fields, bounds, unknown fields, signatures, the order of tool calls and
   * results). Default true.
   */
  validate?: boolean
  /** Milliseconds between the words of a streamed response. Default 0; about 25 makes a pleasant demo. */
  paceMs?: number
  /** Chat field for reasoning that the request enabled. Default `'hidden'`: only counted, as OpenAI does. */
  chatReasoning?: 'hidden' | 'reasoning_content' | 'reasoning'
  /** Pads the data of Messages events with spaces and the deltas of Responses with letters, as the real APIs do. Default true. */
  padding?: boolean
  /** Minimum number of tokens of a cached prefix. Default 64 (real providers: 1,024 and more). */
  cacheMinTokens?: number
  /** Maximum number of recorded requests; older ones are dropped, the counts stay. Default 10,000. */
  keepRequests?: number
  /** Seed of ids and sample values: the same seed and calls produce the same responses. Default 1. */
  seed?: number
  /** Milliseconds since 1970. Default `Date.now`. */
  now?: () => number
  /** Generates the responses without a script. Default: the demo model. */
  brain?: (prompt: Prompt) => Script
}

/** Models listed by default: one for each format, and one for each other operation. */
export const demoModels: readonly string[] = [
  'demo-chat',
  'demo-messages',
  'demo-gemini',
  'demo-responses',
  'demo-embedding',
  'demo-image',
  'demo-transcribe',
  'demo-speech',
  'demo-rerank',
]

/** Creation time of every model, in seconds since 1970. */
export const modelsCreated = 1_767_225_600
