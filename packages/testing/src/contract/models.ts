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
