import type { Json, JsonObject } from '../../compare/json.ts'

export type { Json, JsonObject }

/** An image, or another file, that the user attached. */
export interface Image {
  readonly name: string
  /** `image/png` */
  readonly type: string
  /** Base64, without the data URL prefix. */
  readonly data: string
}

/** A PDF or an audio file that the user attached: `application/pdf`, `audio/wav`, `audio/mpeg`. */
export type AttachedFile = Image

/** A turn of the user. */
export interface Question {
  readonly role: 'user'
  readonly text: string
  readonly images: readonly Image[]
  /** PDF and audio files. Default: none. */
  readonly files?: readonly AttachedFile[]
  /** Results of the tool calls in the response before. */
  readonly results?: readonly ToolResult[]
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text as received, possibly incomplete. */
  readonly input: string
  /** Proof of the provider that the call is its own, which it requires back. */
  readonly signature?: string
}

/** The result of a tool call, as the user entered it. */
export interface ToolResult {
  readonly call: ToolCall
  readonly content: string
  readonly failed: boolean
}

/** The model's response so far. */
export interface Answer {
  readonly role: 'assistant'
  readonly text: string
  readonly reasoning: string
  /** Proof of the provider that the reasoning is its own. Undefined: none, or one for each of several parts. */
  readonly reasoningSignature?: string | undefined
  readonly toolCalls: readonly ToolCall[]
}

export type Turn = Question | Answer

export interface Settings {
  readonly model: string
  readonly system: string
  /** Undefined if not set. */
  readonly temperature: number | undefined
  readonly maxTokens: number | undefined
  readonly topP?: number | undefined
  /** Sequences that end the response. */
  readonly stop?: readonly string[] | undefined
  readonly seed?: number | undefined
  /** Reasoning effort, as the API names it. */
  readonly effort?: string | undefined
  /** JSON schema of the response. */
  readonly schema?: JsonObject | undefined
  /** Fields that are merged into the body; see `buildRequest`. */
  readonly extra?: JsonObject | undefined
  readonly stream: boolean
  /** Tools offered to the model; calls are shown but not executed. */
  readonly tools: readonly { readonly name: string; readonly description: string; readonly schema: JsonObject }[]
}

/** A request as a value, used both to send and to show it. */
export interface ApiRequest {
  /** Relative to the API's address, with its version: `/v1/messages`. */
  readonly path: string
  /** Without the credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
  /** Present: the request is a form (`multipart/form-data`) with the fields of `body` and these files. Absent: it is JSON. */
  readonly files?: readonly FormFile[]
}

/** A file of a form. */
export interface FormFile {
  readonly field: string
  readonly file: File
}

export interface Usage {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cached?: number | undefined
  readonly reasoning?: number | undefined
}

/** A format-independent piece of a response. */
export type Piece =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** Begins or continues a call; `index` separates calls. */
  | {
      readonly type: 'tool-call'
      readonly index: number
      readonly id?: string
      readonly name?: string
      readonly input?: string
      readonly signature?: string
    }
  | { readonly type: 'reasoning-signature'; readonly signature: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: string }
  /** `body` is the API's error unchanged. */
  | { readonly type: 'error'; readonly message: string; readonly body: Json }

/** One server-sent event as received. */
export interface RawEvent {
  readonly event?: string | undefined
  readonly data: string
  /** Milliseconds since the request was sent. */
  readonly at: number
}

/** The API of a request, without I/O: how it carries the token, and how its responses are read. */
export interface Api {
  readonly id: string
  /** Display name. */
  readonly name: string
  /** Returns the headers that carry the token as clients of this API send it. */
  credential(token: string): Readonly<Record<string, string>>
  /** Reads one event of a stream. */
  readEvent(event: Pick<RawEvent, 'event' | 'data'>): readonly Piece[]
  /** Reads a whole response. */
  readAnswer(body: JsonObject): readonly Piece[]
  /** Reads a response that is neither JSON nor an event stream: a text, or the description of a file. Absent: such a response is an error. */
  readFile?(text: string): readonly Piece[]
}

/** A client format of chat. Add new formats to formats/index.ts. */
export interface Format extends Api {
  readonly id: 'chat' | 'messages' | 'gemini' | 'responses'
  /** Settings and attachments for which the format has no field: they are not sent. */
  readonly lacks: readonly ('stop' | 'seed' | 'audio')[]
  /** Default limit of a format that requires one. */
  readonly maxTokensUnlessSet?: number
  build(turns: readonly Turn[], settings: Settings): ApiRequest
}

/** One call with its response: the data of the inspector. Grows while the call runs. */
export interface Exchange {
  readonly format: Api
  readonly request: ApiRequest
  readonly status?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  /** Losses that the gateway found in the stream, in the syntax of the header `modelgate-loss`. */
  readonly streamLosses?: string
  /** The stream's events; a response that is no stream is one event. */
  readonly events: readonly RawEvent[]
  /** A response that is a file, such as audio. */
  readonly media?: Blob
  readonly pieces: readonly Piece[]
  /** Milliseconds since the request was sent. */
  readonly firstPieceAt?: number
  readonly endedAt?: number
  readonly outcome: 'running' | 'finished' | 'stopped' | 'failed'
}
