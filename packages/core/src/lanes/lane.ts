import type { ErrorInfo } from '../base/errors.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { RequestFlags } from '../formats/codec.ts'
import type { BillableUnits, Report, Usage } from '../formats/ir.ts'
import type { Received } from '../formats/references/places.ts'

/** What one attempt sends and how it reads what comes back: untouched bytes, or a translation. */
export interface Lane {
  readonly kind: 'wire' | 'translate'
  readonly upstreamFormat: UpstreamFormat
  /** The request's body for the upstream; an iterable is iterated anew for each attempt. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>
  /** Headers that belong to the body, in place of those of a JSON body. */
  readonly headers?: Readonly<Record<string, string>>
  /** Flags of a header that the body needs, in addition to the client's. */
  readonly flags?: RequestFlags | undefined
  /** The model accepts more of this request in another format: the lane is taken only if the upstream speaks no other. */
  readonly restricted?: boolean
  /** What could not be carried, both ways; grows while an answer is translated. */
  readonly report: Report
  /** Turns a whole answer into the client's. Throws GatewayError `upstream_bad_response` if it is none. */
  answer(bytes: Uint8Array): WholeAnswer
  openStream(): AnswerStream
  /**
   * An answer that is neither JSON nor events may come: it passes as it comes, under the upstream's content type. `media`: text in
   * its place is no answer, but an upstream's words about a failure.
   */
  readonly passes?: 'any' | 'media'
  /**
   * A whole answer as the events that a streaming client waits for, from upstreams that do not stream it. Throws as `answer`
   * does. Absent: a whole answer to a streaming call is an error.
   */
  asEvents?(bytes: Uint8Array): Uint8Array
  /** A field that the upstream's error names, in the client's terms; undefined if it has none there. Absent: the terms are the same. */
  paramOf?(param: string): string | undefined
}

export interface WholeAnswer {
  readonly body: string | Uint8Array
  /** Default: JSON. */
  readonly contentType?: string
  readonly usage?: Usage
  readonly units?: BillableUnits
  readonly finish?: string
  /** See ResponseTap. */
  readonly received?: readonly Received[]
}

/** What is known of a streamed answer so far. */
export interface StreamState {
  /** A real event has come: from here on the call cannot be tried elsewhere. */
  readonly started: boolean
  /** The upstream's own terminal event has come: only then is the answer whole. */
  readonly ended: boolean
  /** The upstream's own error event; it has been passed on. */
  readonly error: ErrorInfo | undefined
  readonly usage: Usage | undefined
  readonly units?: BillableUnits | undefined
  readonly finish: string | undefined
  /** See ResponseTap. */
  readonly received?: readonly Received[] | undefined
}

/** One streamed answer: upstream bytes in, client bytes out. No clock and no I/O. */
export interface AnswerStream {
  readonly state: StreamState
  push(chunk: Uint8Array): void
  /**
   * The upstream's bytes are over, or nothing more is read.
   *
   * @param complete the end of the body is marked, so that it is no cut. Default false.
   */
  end(complete?: boolean): void
  /** The client's bytes ready since the last call. */
  take(): Uint8Array | undefined
  /** About how many tokens the answer has said so far, where somebody has to know without the upstream. */
  said?(): number
  /** Bytes that tell the client to go on waiting. */
  heartbeat(): Uint8Array
  /** Bytes that tell the client, in its dialect, that the answer broke here. */
  fail(error: ErrorInfo): Uint8Array
}
