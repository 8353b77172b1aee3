import type { Context } from './context.ts'

/** What checks are grouped by: the four formats of generation, and the operations around them. */
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

/** What a score is broken down by: a format, or a group of endpoints beside them. */
export type ScoredFormat = keyof typeof formats
export const formatNames = Object.keys(formats) as ScoredFormat[]

/** The kinds of models that checks ask. */
export const modelKinds = [
  'text',
  'completion',
  'embedding',
  'image',
  'transcription',
  'speech',
  'rerank',
  'realtime',
] as const
/** A kind of model that a check asks. */
export type ModelKind = (typeof modelKinds)[number]

/** One thing that a client must be able to do. All weigh the same. */
export interface Check {
  readonly format: ScoredFormat
  /** Its name among those of its format. */
  readonly feature: string
  /** What is known once it has passed, in a sentence. */
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

/** What became of a check. */
export type Verdict = 'passed' | 'failed' | 'not served' | 'not asked'

/** What was expected and did not come: the check has failed, for this reason. */
export class Missed extends Error {
  override readonly name = 'Missed'
}

/** The server says that it does not do this: nothing that counts against it. */
export class NotServed extends Error {
  override readonly name = 'NotServed'
}

/** The question makes no sense here. */
export class NotAsked extends Error {
  override readonly name = 'NotAsked'
}

/** Ends the check as failed unless the condition holds. `why` says what there was instead. */
export function must(condition: boolean, why: string | (() => string)): asserts condition {
  if (!condition) throw new Missed(typeof why === 'string' ? why : why())
}

/** A value as it is shown in a reason: short. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}
