import type { Context } from './context.ts'
import type { ModelKind } from './models.ts'

/** Groups of checks: the four generation formats and the other operations. */
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

/** A row of the score: a generation format or a group of other endpoints. */
export type ScoredFormat = keyof typeof formats
export const formatNames = Object.keys(formats) as ScoredFormat[]

/** One capability that clients need. All checks have the same weight. */
export interface Check {
  readonly format: ScoredFormat
  /** Name, unique within the format. */
  readonly feature: string
  /** The fact that a passed check proves, as a sentence. */
  readonly proves: string
  /** Maximum number of calls. */
  readonly calls: number
  /** Kind of model that the check needs. Default: the text model. */
  readonly needs?: ModelKind
  /** This check is not served if that format is not served. */
  readonly dependsOn?: ScoredFormat
  /** First check of its format: if its path does not exist, the whole format is not served. */
  readonly isEntry?: true
  /** Uses additional paths, which may be missing although the format is served. */
  readonly hasExtraPaths?: true
  run(context: Context): Promise<void>
}

/** Result of a check. */
export type Verdict = 'passed' | 'failed' | 'not served' | 'skipped'
