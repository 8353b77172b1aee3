/** A chat format that clients and upstreams speak: chat completions, messages, generateContent (`gemini`), responses or Bedrock's Converse. */
export type SharedFormat = 'chat' | 'messages' | 'gemini' | 'responses' | 'converse'

/** A chat format of clients: a shared one, or one that only clients speak. */
export type Format = SharedFormat | 'ollama'

/** A chat format of upstreams. */
export type UpstreamFormat = SharedFormat

/** Any chat format. */
export type AnyFormat = Format | UpstreamFormat

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

/** An operation on an object that an upstream stores for a caller, such as a file. */
export type ObjectOperation =
  | 'create-object'
  /** Creates cached content: the provider bills its tokens. */
  | 'create-cache'
  | 'list-objects'
  | 'get-object'
  | 'update-object'
  | 'cancel-object'
  | 'delete-object'
  | 'get-object-content'
  /** Connects a client to the provider over WebRTC: their session bypasses the gateway. */
  | 'create-call'
  /** The same for a phone call. */
  | 'accept-call'
  | 'control-call'

/** The operation of a route. Chat generation is `generate` in every format. */
export type Operation =
  | 'generate'
  | 'count-tokens'
  | 'list-models'
  | 'get-model'
  /** The one model of an endpoint (Azure AI inference). */
  | 'model-info'
  /** The budget of the caller. */
  | 'get-credits'
  /** The record of a call. */
  | 'get-generation'
  /** A request that only opens a connection. */
  | 'ping'
  /** A path of a vendor that the gateway does not offer. */
  | 'not-offered'
  | 'get-response'
  | 'delete-response'
  | 'list-input-items'
  | 'cancel-response'
  | 'compact'
  | ObjectOperation
  /** The requests of a batch, settled when it has ended. No path has this operation. */
  | 'batch'
  | 'realtime'
  /** An endpoint with the same response for every request. */
  | 'static-response'
  /** A body in the format of the model's vendor. It becomes another operation once it is read. */
  | 'invoke'
  /** An endpoint of a plugin. */
  | 'plugin'
  | OperationName
