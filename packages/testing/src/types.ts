import type { OperationName } from '@modelgate/core'
import type { Prompt } from './prompt.ts'

/** A value that JSON can carry. */
export type Json = null | boolean | number | string | Json[] | JsonObject
/** An object of JSON. */
export type JsonObject = { [key: string]: Json }

/** The formats the fake provider speaks. */
export type FakeFormat = 'chat' | 'messages' | 'gemini' | 'responses'

/** The operations of the fake provider other than generation. */
export type FakeOperation = Exclude<OperationName, 'realtime-sessions'>

/** One part of a multipart body. */
export interface FormPart {
  readonly name: string
  /** Undefined for a plain field. */
  readonly filename: string | undefined
  /** As the client said it; empty for a plain field. */
  readonly contentType: string
  readonly bytes: Uint8Array
}

/** A request as it arrived, and what became of its answer. */
export interface RecordedRequest {
  readonly method: string
  /** The path as called, without the query. */
  readonly path: string
  /** The raw query without `?`; empty if there is none. */
  readonly query: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly bodyText: string
  /** The parsed body; undefined if it was no JSON. */
  readonly body: Json | undefined
  /** The parts of a multipart body, in order; undefined if it was none, or a broken one. */
  readonly form: readonly FormPart[] | undefined
  /** The format the path stands for; undefined for paths that are no generation. */
  readonly format: FakeFormat | undefined
  /** The operation the path stands for, where that is none of generation. */
  readonly operation: FakeOperation | undefined
  /** The model asked for, in the body or in the path; undefined if none was named. */
  readonly model: string | undefined
  /** A stream was asked for, in the body or in the path. */
  readonly stream: boolean
  /** Status answered; undefined while there was none (a reset before the headers, a stall). */
  readonly status: number | undefined
  /** The client left before the answer was complete. */
  readonly aborted: boolean
  /** The whole answer was sent (and no fault ended it). */
  readonly finished: boolean
}

/** One server-sent event written as given. An object or array is written as JSON; a string verbatim. */
export interface RawEvent {
  readonly event?: string
  readonly data: Json
}

/** An answer served byte for byte, whatever the request says. */
export interface RawReply {
  /** Default 200. */
  readonly status?: number
  /** Default: a content type guessed from the body (event stream or JSON). */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /**
   * How the bytes are cut into socket writes: `'bytes'` one at a time, a number that many at a time, a list the byte
   * positions to cut at. Default: one piece, or one event at a time where a fault or a pace is asked for.
   */
  readonly chunks?: 'bytes' | number | readonly number[]
}

/**
 * What can go wrong. `after` counts pieces already sent: server-sent events (pings included) of a stream, 64-byte pieces
 * of a JSON answer, chunks of a raw reply.
 */
export type Fault =
  /** The connection is refused: the call rejects, the socket is closed before a byte was read. */
  | { readonly type: 'refuse' }
  /** The connection breaks: before the headers without `after`, else in mid-body. */
  | { readonly type: 'reset'; readonly after?: number }
  /** Nothing more is ever sent: before the headers without `after`, else in mid-body. */
  | { readonly type: 'stall'; readonly after?: number }
  /** The answer begins after `ms` milliseconds. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Every piece takes `ms` milliseconds. */
  | { readonly type: 'slow'; readonly ms: number }
  /** A clean end of file in the middle of the answer. */
  | { readonly type: 'cut'; readonly after: number }
  /** A clean end of file in the middle of a piece. */
  | { readonly type: 'cut-event'; readonly after: number }
  /** A piece of nonsense. Default data: `{"broken": `. */
  | { readonly type: 'garbage'; readonly after: number; readonly data?: string }
  /** The format's own error event, then the end. As a JSON answer: the error's status and body. */
  | { readonly type: 'error-event'; readonly after: number; readonly error?: string; readonly message?: string }
  /** A content-length that is off by `by` bytes (default 100: the body ends early). */
  | { readonly type: 'content-length'; readonly by?: number }
  /** A line that never ends; `bytes` bounds it (then the stream ends cleanly). */
  | { readonly type: 'endless-line'; readonly after?: number; readonly bytes?: number }
  /** 200 with an HTML page. */
  | { readonly type: 'html' }
  /** 200 with nothing in it. */
  | { readonly type: 'empty' }

/** A call of a tool in a scripted answer. */
export interface ScriptedToolCall {
  readonly name: string
  /** Default: an id in the format's own style. */
  readonly id?: string
  /** A string is sent as the exact text of the arguments (it may be broken JSON). Default `{}`. */
  readonly input?: Json
}

/** Thinking in a scripted answer. */
export interface ScriptedThinking {
  readonly text?: string
  /** Default: a signature the fake recognises on the next turn. */
  readonly signature?: string
  /**
   * Only the opaque data is sent, not the text: `redacted_thinking` of messages, a reasoning item without a summary of
   * responses, a signature without a thought of generateContent.
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

/** Token counts as inclusive totals: `input` includes cached tokens, `output` includes reasoning. Each format writes them its own way. */
export interface UsageNumbers {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** The part of `cacheWrite` with a lifetime of one hour. */
  readonly cacheWrite1h: number
  readonly reasoning: number
}

/** Finish words independent of the format; any other string is written as it is. */
export type FinishWord = 'stop' | 'length' | 'tool-calls' | 'stop-sequence' | 'refusal' | 'content-filter' | 'pause'

/** An answer, independent of the format it is asked for in. Everything is optional; `{}` is an empty answer. */
export interface Script {
  /** Beside generation: the transcript, or the completion. */
  readonly text?: string
  readonly thinking?: string | ScriptedThinking
  readonly toolCalls?: readonly ScriptedToolCall[]
  /**
   * Chat: `message.refusal`. Messages: the text, with `stop_reason: "refusal"`. Responses: a refusal part.
   * generateContent: a blocked prompt (`promptFeedback`), or `finishReason: "SAFETY"` after other parts.
   */
  readonly refusal?: string
  readonly citations?: readonly ScriptedCitation[]
  /** Replaces what the fake would count. */
  readonly usage?: Partial<UsageNumbers>
  /** Default: `tool-calls` with tool calls, `refusal` with a refusal, else `stop`. */
  readonly finish?: FinishWord | (string & {})
  /** The sequence that `finish: 'stop-sequence'` names. */
  readonly stopSequence?: string
  /** The model's name in the answer. Default: as asked. */
  readonly model?: string
  /** An error status: the body is the format's own error for it. */
  readonly status?: number
  /** Overrides parts of that error. `type` of the error object (Google's `status`), `code` and `param` for OpenAI's two. */
  readonly error?: {
    readonly type?: string
    readonly message?: string
    readonly code?: string
    readonly param?: string
  }
  /** Added to the answer's headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** The stream's events, verbatim. */
  readonly events?: readonly RawEvent[]
  /** The JSON answer, verbatim. */
  readonly body?: Json
  /** Bytes, verbatim. Nothing else but `fault` and `paceMs` counts then, and the request is not checked. */
  readonly raw?: RawReply
  readonly fault?: Fault | readonly Fault[]
  /** Milliseconds between words. Default: the provider's `paceMs`. */
  readonly paceMs?: number
}

/** A script, or what makes one from the request. */
export type Reply = Script | ((request: RecordedRequest) => Script | Promise<Script>)

/** Which requests a standing reply answers: a predicate, or fields that must all agree. */
export type Matcher =
  | ((request: RecordedRequest) => boolean)
  | {
      readonly format?: FakeFormat
      readonly operation?: FakeOperation
      readonly model?: string
      readonly stream?: boolean
      /** Found anywhere in the body's text. */
      readonly text?: string
    }

/** Counts since the last `reset`. */
export interface FakeStats {
  readonly started: number
  /** Answered to the end. */
  readonly finished: number
  /** The client left first. */
  readonly aborted: number
  /** Ended by a fault that a script or directive asked for. */
  readonly faulted: number
  /** Not ended yet. */
  readonly open: number
}

/** What `createFakeProvider` takes. */
export interface FakeProviderOptions {
  /** The key to accept, or a check. Default: any key that is not empty. */
  apiKey?: string | ((key: string) => boolean)
  /** The model names that exist; others are answered 404. Default: every name exists, and a demo name for each format and operation is listed. */
  models?: readonly string[]
  /**
   * Whether requests are checked as the real provider checks them (required fields, bounds, unknown fields, signatures,
   * the order of tool calls and results). Default true.
   */
  validate?: boolean
  /** Milliseconds between the words of a streamed answer. Default 0; about 25 makes a pleasant demo. */
  paceMs?: number
  /** Where chat answers show reasoning that the request asked for. Default `'hidden'`: only counted, as OpenAI does. */
  chatReasoning?: 'hidden' | 'reasoning_content' | 'reasoning'
  /** Pads the data of message events with spaces and the deltas of responses with letters, as the real APIs do. Default true. */
  padding?: boolean
  /** Tokens a prefix must have to be cached. Default 64 (real providers: 1,024 and more). */
  cacheMinTokens?: number
  /** How many requests are remembered; older ones are forgotten, the counts stay. Default 10,000. */
  keepRequests?: number
  /** Seed of ids and sample values: the same seed and calls give the same answers. Default 1. */
  seed?: number
  /** Milliseconds since 1970. Default `Date.now`. */
  now?: () => number
  /** Makes the answers nothing was scripted for. Default: the demo model. */
  brain?: (prompt: Prompt) => Script
}
