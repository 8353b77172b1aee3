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
