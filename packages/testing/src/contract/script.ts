import type { Json } from '../base/json.ts'
import type { RecordedRequest } from './request.ts'

/** One server-sent event. An object or array is sent as JSON; a string verbatim. */
export interface RawEvent {
  readonly event?: string
  readonly data: Json
}

/** A response served byte for byte, for any request. */
export interface RawReply {
  /** HTTP status. Default 200. */
  readonly status?: number
  /** Default: a content type guessed from the body (event stream or JSON). */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /**
   * Sizes of the socket writes: `'bytes'` for single bytes, a number of bytes, or a list of byte positions. Default:
   * one write, or one per event with a fault or a pace.
   */
  readonly chunks?: 'bytes' | number | readonly number[]
}

/**
 * Faults of a response. `after` counts pieces already sent: server-sent events (pings included) of a stream, 64-byte pieces
 * of a JSON response, chunks of a raw reply.
 */
export type Fault =
  /** Refuses the connection: the call rejects, the socket is closed before a byte is read. */
  | { readonly type: 'refuse' }
  /** Breaks the connection: before the headers without `after`, else in the body. */
  | { readonly type: 'reset'; readonly after?: number }
  /** Sends nothing more: before the headers without `after`, else in the body. */
  | { readonly type: 'stall'; readonly after?: number }
  /** Begins the response after `ms` milliseconds. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Delays every piece by `ms` milliseconds. */
  | { readonly type: 'slow'; readonly ms: number }
  /** Ends the body cleanly in the middle of the response. */
  | { readonly type: 'cut'; readonly after: number }
  /** Ends the body cleanly in the middle of a piece. */
  | { readonly type: 'cut-event'; readonly after: number }
  /** Sends an invalid piece. Default data: `{"broken": `. */
  | { readonly type: 'garbage'; readonly after: number; readonly data?: string }
  /** Sends the format's own error event, then ends. As a JSON response: the error's status and body. */
  | { readonly type: 'error-event'; readonly after: number; readonly error?: string; readonly message?: string }
  /** Sends a content-length that is off by `by` bytes (default 100: the body ends early). */
  | { readonly type: 'content-length'; readonly by?: number }
  /** Sends a line that never ends; with `bytes` the stream ends cleanly after that many. */
  | { readonly type: 'endless-line'; readonly after?: number; readonly bytes?: number }
  /** Returns 200 with an HTML page. */
  | { readonly type: 'html' }
  /** Returns 200 with an empty body. */
  | { readonly type: 'empty' }

/** A tool call in a scripted response. */
export interface ScriptedToolCall {
  readonly name: string
  /** Default: an id in the format's own style. */
  readonly id?: string
  /** A string is sent as the exact text of the arguments (it may be broken JSON). Default `{}`. */
  readonly input?: Json
}

/** Thinking in a scripted response. */
export interface ScriptedThinking {
  readonly text?: string
  /** Default: a signature that the fake accepts in the next turn. */
  readonly signature?: string
  /**
   * Sends only the opaque data, not the text: `redacted_thinking` of Messages, a reasoning item without a summary of Responses, a
   * signature without a thought of generateContent.
   */
  readonly redacted?: boolean
}

/** A citation of a document in the request. Messages only. */
export interface ScriptedCitation {
  readonly text: string
  readonly documentIndex: number
  readonly documentTitle: string | null
  readonly start: number
  readonly end: number
}

/**
 * Token counts as inclusive totals: `input` includes cached tokens, `output` includes reasoning. Each format reports them in its
 * own way.
 */
export interface UsageNumbers {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` with a lifetime of one hour. */
  readonly cacheWrite1h: number
  readonly reasoning: number
}

/** Finish reasons independent of the format; any other string is sent unchanged. */
export type FinishWord = 'stop' | 'length' | 'tool-calls' | 'stop-sequence' | 'refusal' | 'content-filter' | 'pause'

/** A response, independent of the requested format. Everything is optional; `{}` is an empty response. */
export interface Script {
  /** For operations other than generation: the transcript, or the completion. */
  readonly text?: string
  readonly thinking?: string | ScriptedThinking
  readonly toolCalls?: readonly ScriptedToolCall[]
  /**
   * Chat: `message.refusal`. Messages: the text, with `stop_reason: "refusal"`. Responses: a refusal part. generateContent: a
   * blocked prompt (`promptFeedback`), or `finishReason: "SAFETY"` after other parts.
   */
  readonly refusal?: string
  readonly citations?: readonly ScriptedCitation[]
  /** Overrides the fake's own counts. */
  readonly usage?: Partial<UsageNumbers>
  /** Default: `tool-calls` with tool calls, `refusal` with a refusal, else `stop`. */
  readonly finish?: FinishWord | (string & {})
  /** The sequence for `finish: 'stop-sequence'`. */
  readonly stopSequence?: string
  /** Model name in the response. Default: the requested one. */
  readonly model?: string
  /** An error status: the body is the format's own error for it. */
  readonly status?: number
  /** Overrides parts of that error: `type` of the error object (Google's `status`), `code` and `param` for OpenAI's two. */
  readonly error?: {
    readonly type?: string
    readonly message?: string
    readonly code?: string
    readonly param?: string
  }
  /** Additional response headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** The stream's events, verbatim. */
  readonly events?: readonly RawEvent[]
  /** The JSON response, verbatim. */
  readonly body?: Json
  /** Bytes, verbatim. Only `fault` and `paceMs` apply besides, and the request is not checked. */
  readonly raw?: RawReply
  readonly fault?: Fault | readonly Fault[]
  /** Milliseconds between words. Default: the provider's `paceMs`. */
  readonly paceMs?: number
}

/** A script, or a function that returns one for the request. */
export type ScriptedReply = Script | ((request: RecordedRequest) => Script | Promise<Script>)
