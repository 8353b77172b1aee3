/** A chat format of clients: chat completions, messages, generateContent (`gemini`) or responses. */
export type Format = 'chat' | 'messages' | 'gemini' | 'responses'

/** A chat format of upstreams: a format of clients, or one that only upstreams use. */
export type UpstreamFormat = Format | 'converse'

/** A model operation other than chat generation. */
export type OperationName =
  | 'completions'
  | 'embeddings'
  | 'rerank'
  | 'moderations'
  | 'images'
  | 'image-edits'
  | 'image-variations'
  | 'transcriptions'
  | 'translations'
  | 'speech'
  | 'realtime-sessions'

/** The operation of a route. Chat generation is `generate` in every format. */
export type Operation =
  | 'generate'
  | 'count-tokens'
  | 'list-models'
  | 'get-model'
  | 'get-response'
  | 'delete-response'
  | 'list-input-items'
  | 'cancel-response'
  | 'realtime'
  /** An endpoint of a plugin. */
  | 'plugin'
  | OperationName
