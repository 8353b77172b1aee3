import type { Context } from './context.ts'
import type { ModelKind } from './models.ts'

/** Groups of checks: the four formats of generation, and the operations around them. */
export const formats = {
  chat: 'chat completions',
  messages: 'messages',
  gemini: 'generateContent',
  responses: 'responses',
  completions: 'completions',
  embeddings: 'embeddings',
  images: 'images',
  transcriptions: 'transcriptions',
  speech: 'speech',
  rerank: 'rerank',
  models: 'models',
  tokens: 'count tokens',
  realtime: 'realtime',
} as const

/** A row of the score: a format, or a group of other endpoints. */
export type ScoredFormat = keyof typeof formats
export const formatNames = Object.keys(formats) as ScoredFormat[]

/** One thing that a client must be able to do. All weigh the same. */
export interface Check {
  readonly format: ScoredFormat
  /** Its name among those of its format. */
  readonly feature: string
  /** The fact that a pass proves, in a sentence. */
  readonly proves: string
  /** How many calls it makes, at most. */
  readonly calls: number
  /** Whose work it is. Default: the text model. */
  readonly needs?: ModelKind
  /** Not served, where that format is not. */
  readonly behind?: ScoredFormat
  /** The first of its format: where its path is not served, the format is not. */
  readonly door?: true
  /** Asks paths of its own: they may not be served though the format is. */
  readonly apart?: true
  run(context: Context): Promise<void>
}

/** Result of a check. */
export type Verdict = 'passed' | 'failed' | 'not served' | 'not asked'
