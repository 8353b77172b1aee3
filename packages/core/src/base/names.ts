/** The chat formats that clients speak: chat completions, messages, generateContent (`gemini`) and responses. */
export type Format = 'chat' | 'messages' | 'gemini' | 'responses'

/** Every format that upstreams speak: those of the clients, and some that no client does. */
export type UpstreamFormat = Format | 'converse'

/** What an upstream can be asked for beside chat generation. */
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

/** What a route does. Chat generation is `generate`, whatever the format. */
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
  /** A plugin's own. */
  | 'plugin'
  | OperationName
