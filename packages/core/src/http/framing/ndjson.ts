import { encodeText, type SseEvent } from '../sse/sse.ts'
import { type Framing, isJsonEvent, TextWriter } from './framing.ts'

/**
 * One line of JSON for each event's data, as Ollama's clients read it. A space keeps the stream alive: JSON parsers skip it in front of the
 * next line, whereas Ollama's client warns of an empty line. An error is the last line.
 */
export const ndjson: Framing = {
  contentType: 'application/x-ndjson',
  open: () => new NdjsonWriter(),
}

class NdjsonWriter extends TextWriter {
  write(events: readonly SseEvent[]): void {
    for (const event of events) if (isJsonEvent(event)) this.ready += `${oneLine(event.data)}\n`
  }

  heartbeat(): Uint8Array {
    return encodeText(' ')
  }
}

/** JSON has line ends only between its tokens. */
const oneLine = (data: string): string => (data.includes('\n') ? data.replaceAll('\n', ' ') : data)
