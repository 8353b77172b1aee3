import { concatBytes } from '../../base/bytes.ts'
import { encodeAllSse, encodeText } from '../sse/encode.ts'
import type { SseEvent } from '../sse/sse.ts'
import { TextWriter } from './framing.ts'

/** Writes server-sent events, the framing of all streams whose route states no other one. */
export class SseWriter extends TextWriter {
  readonly #written: Uint8Array[] = []

  write(events: readonly SseEvent[]): void {
    this.ready += encodeAllSse(events)
  }

  /** Adds whole events as bytes. */
  readonly writeBytes = (bytes: Uint8Array): void => {
    this.#flush()
    this.#written.push(bytes)
  }

  override take(): Uint8Array | undefined {
    if (this.#written.length === 0) return super.take()
    this.#flush()
    return concatBytes(this.#written.splice(0))
  }

  #flush(): void {
    const bytes = super.take()
    if (bytes !== undefined) this.#written.push(bytes)
  }

  heartbeat(own: () => readonly SseEvent[]): Uint8Array {
    return encodeText(encodeAllSse(own()))
  }
}
