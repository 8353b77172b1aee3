import type { OperationName } from '@modelgate/core'
import type { Json } from '../base/json.ts'

/** Formats that the fake provider serves. */
export type FakeFormat = 'chat' | 'messages' | 'gemini' | 'responses'

/** The operations of the fake provider other than generation. */
export type FakeOperation = Exclude<OperationName, 'realtime-sessions'>

/** One part of a multipart body. */
export interface FormPart {
  readonly name: string
  /** Undefined for a plain field. */
  readonly filename: string | undefined
  /** The client's content type; empty for a plain field. */
  readonly contentType: string
  readonly bytes: Uint8Array
}

/** A received request with the end of its response. */
export interface RecordedRequest {
  readonly method: string
  /** The requested path, without the query. */
  readonly path: string
  /** The raw query without `?`; empty if there is none. */
  readonly query: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly bodyText: string
  /** The parsed body; undefined if it is not JSON. */
  readonly body: Json | undefined
  /** Parts of a multipart body, in order; undefined for other or invalid bodies. */
  readonly form: readonly FormPart[] | undefined
  /** Format of the path; undefined for paths of other operations. */
  readonly format: FakeFormat | undefined
  /** Operation of the path; undefined for generation. */
  readonly operation: FakeOperation | undefined
  /** Requested model, in the body or in the path; undefined if none is named. */
  readonly model: string | undefined
  /** True if a stream is requested, in the body or in the path. */
  readonly stream: boolean
  /** Status of the response; undefined if there was none (a reset before the headers, a stall). */
  readonly status: number | undefined
  /** The client disconnected before the response was complete. */
  readonly aborted: boolean
  /** The whole response was sent (and no fault ended it). */
  readonly finished: boolean
}

/** Selects the requests of a standing reply: a predicate, or fields that must all match. */
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
  /** Calls with a complete response. */
  readonly finished: number
  /** Calls whose client disconnected first. */
  readonly aborted: number
  /** Calls ended by a fault of a script or directive. */
  readonly faulted: number
  /** Calls in progress. */
  readonly open: number
}
