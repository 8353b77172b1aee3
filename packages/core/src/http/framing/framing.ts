import type { EventFrame } from '../frames/frame-decoder.ts'
import { encodeText } from '../sse/encode.ts'
import type { SseEvent } from '../sse/sse.ts'

/** A form in which clients read the events of a stream. */
export interface Framing {
  /** The `content-type` of a stream. */
  readonly contentType: string
  /** Creates the writer of one stream. */
  open(): EventWriter
}

/** A framing of binary frames, which upstreams use, too. */
export interface FrameFraming extends Framing {
  readonly name: FramingName
  /** Reads a frame of an upstream. Undefined for a frame that is no event. */
  read(frame: EventFrame): SseEvent | undefined
}

/**
 * A framing other than server-sent events, which every format has unless its route states another one: one JSON array (`json-array`), a
 * JSON text for each line (`ndjson`), or binary frames, each with an event (`named-frames`) or with an event in base64 (`chunk-frames`).
 */
export type FramingName = 'json-array' | 'ndjson' | 'named-frames' | 'chunk-frames'

/** Writes the events of one stream. Pure and synchronous. */
export interface EventWriter {
  /** Adds events. A framing without comments leaves out the events that are comments. */
  write(events: readonly SseEvent[]): void
  /** Ends the stream: adds what follows its last event. Later calls do nothing. */
  end(): void
  /** Returns the bytes that have become ready since the last call. */
  take(): Uint8Array | undefined
  /**
   * Returns bytes that keep a silent stream alive. They do not wait for `take`.
   *
   * @param own returns the format's own heartbeat, for framings that have none
   */
  heartbeat(own: () => readonly SseEvent[]): Uint8Array
}

/** Collects the text of a writer. */
export abstract class TextWriter implements EventWriter {
  protected ready = ''

  abstract write(events: readonly SseEvent[]): void
  abstract heartbeat(own: () => readonly SseEvent[]): Uint8Array

  end(): void {}

  take(): Uint8Array | undefined {
    if (this.ready === '') return undefined
    const bytes = encodeText(this.ready)
    this.ready = ''
    return bytes
  }
}

/** Returns whether an event holds JSON. A comment does not, nor the marker with which some servers end a stream. */
export const isJsonEvent = ({ event, data }: SseEvent): boolean =>
  event !== ':' && data !== '' && (data.length > 20 || data.trim() !== '[DONE]')
