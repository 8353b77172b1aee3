import { encodeAllSse, encodeText } from '../sse/encode.ts'
import type { SseEvent } from '../sse/sse.ts'
import { TextWriter } from './framing.ts'

/** Writes server-sent events, the framing of all streams whose route states no other one. */
export class SseWriter extends TextWriter {
  write(events: readonly SseEvent[]): void {
    this.ready += encodeAllSse(events)
  }

  heartbeat(own: () => readonly SseEvent[]): Uint8Array {
    return encodeText(encodeAllSse(own()))
  }
}
