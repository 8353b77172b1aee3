/** JSON as the APIs speak it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonObject = { [key: string]: Json }

/** An image that a person has attached. */
export interface Image {
  readonly name: string
  /** `image/png` */
  readonly type: string
  /** Base64, without the front of a data URL. */
  readonly data: string
}

/** What a person said. */
export interface Question {
  readonly role: 'user'
  readonly text: string
  readonly images: readonly Image[]
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON as it came, maybe not whole yet. */
  readonly input: string
}

/** What the model said, as far as it has come. */
export interface Answer {
  readonly role: 'assistant'
  readonly text: string
  readonly reasoning: string
  readonly toolCalls: readonly ToolCall[]
}

export type Turn = Question | Answer

export interface Settings {
  readonly model: string
  readonly system: string
  /** undefined: not said. */
  readonly temperature: number | undefined
  readonly maxTokens: number | undefined
  readonly stream: boolean
  /** Tools that the model is offered; their calls are shown, nobody runs them. */
  readonly tools: readonly { readonly name: string; readonly description: string; readonly schema: JsonObject }[]
}

/** A request, as a value: everything that is sent or shown is made of it. */
export interface ApiRequest {
  /** Below the API's address, with its version: `/v1/messages`. */
  readonly path: string
  /** Without the credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject
}

export interface Usage {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cached?: number | undefined
  readonly reasoning?: number | undefined
}

/** What an answer says, piece by piece, whatever the format. */
export type Piece =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** A call begins, or goes on: `index` tells calls apart. */
  | {
      readonly type: 'tool-call'
      readonly index: number
      readonly id?: string
      readonly name?: string
      readonly input?: string
    }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'finish'; readonly reason: string }
  /** As the API gave it. */
  | { readonly type: 'error'; readonly message: string; readonly body: Json }

/** One server-sent event as it came. */
export interface RawEvent {
  readonly event?: string | undefined
  readonly data: string
  /** Milliseconds since the request was sent. */
  readonly at: number
}

/** A client format, without I/O. A new one adds itself to formats/index.ts. */
export interface Format {
  readonly id: 'chat' | 'messages' | 'gemini' | 'responses'
  /** For people. */
  readonly name: string
  /** Sent where no limit was set, by a format that does not work without. */
  readonly maxTokensUnlessSet?: number
  build(turns: readonly Turn[], settings: Settings): ApiRequest
  /** Headers that carry the token as this format's clients do. */
  credential(token: string): Readonly<Record<string, string>>
  /** Reads one event of a stream. */
  readEvent(event: Pick<RawEvent, 'event' | 'data'>): readonly Piece[]
  /** Reads a whole answer. */
  readAnswer(body: JsonObject): readonly Piece[]
}

/** One call and what came of it: what the inspector shows. Grows while the call runs. */
export interface Exchange {
  readonly format: Format
  readonly request: ApiRequest
  readonly status?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  /** The stream's events; the whole answer as one where it was no stream. */
  readonly events: readonly RawEvent[]
  readonly pieces: readonly Piece[]
  /** Milliseconds since the request was sent. */
  readonly firstPieceAt?: number
  readonly endedAt?: number
  readonly outcome: 'running' | 'finished' | 'stopped' | 'failed'
}
