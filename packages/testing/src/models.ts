/** What is listed when the options name no models: one for each format, and one for each kind of other work. */
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

/** Seconds since 1970 that every model is said to be of. */
export const modelsCreated = 1_767_225_600
