import { encodeText } from '../sse/encode.ts'
import type { SseEvent } from '../sse/sse.ts'
import { type Framing, isJsonEvent, TextWriter } from './framing.ts'

/**
 * One JSON array with an element for each event's data, which Gemini's clients read without `alt=sse`. White space between the elements
 * keeps the stream alive. An error is the last element.
 */
export const jsonArray: Framing = {
  contentType: 'application/json; charset=utf-8',
  open: () => new JsonArrayWriter(),
}

class JsonArrayWriter extends TextWriter {
  #opened = false
  #closed = false

  write(events: readonly SseEvent[]): void {
    for (const event of events) {
      if (!isJsonEvent(event)) continue
      this.ready += (this.#opened ? ',\r\n' : '[') + event.data
      this.#opened = true
    }
  }

  override end(): void {
    if (this.#closed) return
    this.#closed = true
    this.ready += this.#opened ? '\n]' : '[]'
  }

  heartbeat(): Uint8Array {
    return encodeText(this.#opened ? '\n' : ' ')
  }
}
