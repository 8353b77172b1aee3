import type { EventGap } from '../http/sse/event-template.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { ModelEvent } from './ir.ts'

/** A stream as a pure machine: events in, events out, no clock and no I/O. `end` is called once, at the end of input. */
export interface Machine<In, Out> {
  push(input: In): Out[]
  /** @param complete see AnswerStream */
  end(complete?: boolean): Out[]
}

/** The data of an event: fixed pieces, and what stands after each. Exactly one gap is the added text. */
export interface TextForm {
  readonly pieces: readonly string[]
  readonly gaps: readonly EventGap[]
}

/** Decodes the events of an upstream's stream. */
export interface StreamDecoder extends Machine<SseEvent, ModelEvent> {
  /** Returns the form of the last event if it was a text delta: following events often differ from it only in their text. */
  textForm?(): TextForm | undefined
  /**
   * Decodes events of that form at once. Only called right after an event of that form, so not after an error or the end.
   *
   * @param text the texts of all of them, joined
   */
  repeat?(text: string): ModelEvent[]
}

/** Encodes IR events as the client's stream. Also creates the format's heartbeats. */
export interface StreamEncoder extends Machine<ModelEvent, SseEvent> {
  /** Events that keep a silent stream alive. An SSE comment is `{event: ':', data: 'text'}`. */
  heartbeat(): SseEvent[]
  /** The number of the next event, for formats that number their events in a `sequence_number`. */
  sequence?: { next: number }
}
