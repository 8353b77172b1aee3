import { encodeText } from '../sse/encode.ts'
import type { SseEvent } from '../sse/sse.ts'
import { type Framing, isJsonEvent, TextWriter } from './framing.ts'

/**
 * One line of JSON for each event's data, as Ollama's clients read it. A space keeps the stream alive: JSON parsers skip it in front of the
 * next line, whereas Ollama's client warns of an empty line. An error is the last line. Losses that are found late, a comment in other streams,
 * are a member of the next line, because clients read each line as a message.
 */
export const ndjson: Framing = {
  contentType: 'application/x-ndjson',
  open: () => new NdjsonWriter(),
}

class NdjsonWriter extends TextWriter {
  /** Losses for the next line. */
  #losses = ''

  write(events: readonly SseEvent[]): void {
    for (const event of events)
      if (isJsonEvent(event)) {
        this.ready += `${this.#losses}${oneLine(this.#losses === '' ? event.data : event.data.slice(1))}\n`
        this.#losses = ''
      } else if (event.event === ':' && event.data.startsWith(lossComment))
        this.#losses = `{"modelgate_loss":${JSON.stringify(event.data.slice(lossComment.length))},`
  }

  heartbeat(): Uint8Array {
    return encodeText(' ')
  }
}

/** The beginning of the comment with the losses that are found after the headers. */
const lossComment = 'modelgate-loss '

/** JSON has line ends only between its tokens. */
const oneLine = (data: string): string => (data.includes('\n') ? data.replaceAll('\n', ' ') : data)
