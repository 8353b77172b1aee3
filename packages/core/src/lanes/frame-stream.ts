import { createOutputEstimator, type OutputEstimator } from '../accounting/estimate-output.ts'
import { concatBytes } from '../base/bytes.ts'
import type { ErrorInfo } from '../base/errors.ts'
import type { StreamTap } from '../formats/codec.ts'
import { createFrameDecoder, type EventFrame, type FrameDecoder, maxFrameBytes } from '../http/frames/frame-decoder.ts'
import type { EventWriter, FrameFraming } from '../http/framing/framing.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'
import type { ResponseStream } from './lane.ts'
import type { PassThroughStreamOptions } from './pass-through-stream.ts'

export interface FrameStreamOptions extends PassThroughStreamOptions {
  readonly framing: FrameFraming
}

export type OpenFrameStream = (options: FrameStreamOptions) => ResponseStream

/**
 * Creates the stream of a pass-through lane whose upstream and client read the same binary frames. Whole frames pass unchanged, after
 * their checksums were verified; a tap reads usage, ending and errors. A frame that holds a secret of the upstream is written again.
 */
export const frameStream: OpenFrameStream = (options) => new FrameStream(options)

const nothing = new Uint8Array(0)
const decoder = new TextDecoder()

class FrameStream implements ResponseStream {
  readonly state: StreamTap
  readonly estimatedTokens: () => number
  readonly #framing: FrameFraming
  readonly #redactor: Redactor
  readonly #estimator: OutputEstimator
  readonly #frames: FrameDecoder
  readonly #writer: EventWriter
  #ready: Uint8Array[] = []

  constructor({ tap, framing, redactor, textFields, maxEventChars }: FrameStreamOptions) {
    this.state = tap
    this.#framing = framing
    this.#redactor = redactor
    this.#estimator = createOutputEstimator(textFields)
    this.estimatedTokens = this.#estimator.tokens
    this.#frames = createFrameDecoder(Math.min(maxFrameBytes, maxEventChars))
    this.#writer = framing.open()
  }

  push(chunk: Uint8Array): void {
    this.#frames.push(chunk)
    for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) {
      // Nothing follows an error.
      if (this.state.error !== undefined) return
      this.#process(frame)
    }
  }

  end(complete?: boolean): void {
    // Half a frame is no part of a response: without its end, the response is truncated.
    if (this.state.error === undefined) this.state.end?.(complete)
  }

  take(): Uint8Array | undefined {
    if (this.#ready.length === 0) return undefined
    const bytes = concatBytes(this.#ready)
    this.#ready = []
    return bytes
  }

  heartbeat(): Uint8Array {
    return this.#writer.heartbeat(() => this.state.heartbeat())
  }

  fail(error: ErrorInfo): Uint8Array {
    return this.#write(this.state.fail(error), 'error')
  }

  #process(frame: EventFrame): void {
    const { state } = this
    let event: SseEvent | undefined
    let passes = true
    try {
      event = this.#framing.read(frame)
      if (event !== undefined) passes = state.push(event)
    } catch (cause) {
      // The response is whole: a broken event after its end does not change that.
      if (!state.ended) throw cause
      return
    }
    if (event !== undefined) this.#estimator.add(event.data)
    const { error } = state
    if (error !== undefined)
      this.#ready.push(passes && event !== undefined ? this.#write([event], 'error') : this.fail(error))
    else if (passes) this.#pass(frame, event)
  }

  #pass({ bytes }: EventFrame, event: SseEvent | undefined): void {
    if (!this.#holdsCredential(bytes, event)) this.#ready.push(bytes)
    // A secret in a frame of another kind cannot be masked.
    else if (event !== undefined) this.#ready.push(this.#write([event], 'plain'))
  }

  /** The data of an event may be encoded in its frame. Any header of a frame may hold a secret, too. */
  #holdsCredential(bytes: Uint8Array, event: SseEvent | undefined): boolean {
    if (event !== undefined && this.#redactor.hasCredential(event.data)) return true
    return this.#redactor.mayHaveCredential(bytes) && this.#redactor.hasCredential(decoder.decode(bytes))
  }

  /** Writes events without the upstream's secrets, and without headers of frames that only the upstream writes. */
  #write(events: readonly SseEvent[], treatment: 'plain' | 'error'): Uint8Array {
    this.#writer.write(
      events.map(({ event, data }) => ({
        event: event === undefined ? undefined : this.#redactor.redactText(event),
        data: this.#redactor.redactJson(data, treatment),
      })),
    )
    return this.#writer.take() ?? nothing
  }
}
