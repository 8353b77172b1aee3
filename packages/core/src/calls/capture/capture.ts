import type {
  BodySource,
  CallCapture,
  CapturableRequest,
  CaptureSettings,
  ClientBytes,
} from '../../accounting/call-capture.ts'
import { observe } from '../../base/callbacks.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { CallBodies } from '../../config/call-bodies.ts'
import type { Attempt, FinishEvent } from '../../config/finish-event.ts'
import type { Inbound, Reply } from '../../http/inbound.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../http/transport.ts'
import { BodyMask } from '../../upstreams/redaction/body-mask.ts'
import { redactorOf } from '../../upstreams/redaction/redactor.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import { type CopySettings, copyBody, copyForm, WatchedBody, watchBody } from './captured-body.ts'
import { possibleCredentials } from './possible-credentials.ts'

/** Attempts whose bodies are kept: the first ones, and the last one in the last place. */
const maxAttempts = 4

/** Memory of an event's objects, in addition to the copies. */
const overheadBytes = 512

/** A CapturedAttempt, while it is filled in. */
class WatchedAttempt {
  readonly index: number
  request?: WatchedBody
  response?: WatchedBody
  readonly #upstream: Upstream
  /** Private, because its query may have a credential. */
  #url: string | undefined

  constructor(index: number, upstream: Upstream) {
    this.index = index
    this.#upstream = upstream
  }

  sentTo(url: string): void {
    this.#url = url
  }

  /** A getter, because few attempts are ever read. */
  get path(): string | undefined {
    const url = this.#url
    return url === undefined ? undefined : redactorOf(this.#upstream).maskCredentials(new URL(url).pathname)
  }
}

/** Creates the capture of a call. */
export const createCapture = (requestId: string, inbound: Inbound, settings: CaptureSettings): CallCapture =>
  new Capture(requestId, inbound, settings)

class Capture implements CallCapture {
  readonly #requestId: string
  readonly #settings: CaptureSettings
  readonly #copies: CopySettings
  readonly #mask: BodyMask
  #request: WatchedBody | undefined
  #response: WatchedBody | undefined
  readonly #attempts: WatchedAttempt[] = []
  #withholdsResponses = false
  #isStreamed = false
  #isFinished = false

  constructor(requestId: string, inbound: Inbound, settings: CaptureSettings) {
    const { maxBodyBytes, memory, upstreams } = settings
    this.#requestId = requestId
    this.#settings = settings
    this.#mask = new BodyMask(upstreams)
    this.#mask.addHeaders(possibleCredentials(inbound))
    this.#copies = { maxBodyBytes, memory, mask: this.#mask }
  }

  watchRequest(source: BodySource): BodySource {
    const request = watchBody(source.header('content-type'), this.#copies)
    this.#request?.drop()
    this.#request = request
    const { stream, openSpool, turn } = source
    return {
      header: (name) => source.header(name),
      async read(limit) {
        const bytes = await source.read(limit)
        request.append(bytes)
        request.end(true)
        return bytes
      },
      ...(stream === undefined ? {} : { stream: (limit) => watchChunks(stream.call(source, limit), request) }),
      ...(openSpool === undefined ? {} : { openSpool: () => openSpool.call(source) }),
      ...(turn === undefined ? {} : { turn: () => turn.call(source) }),
    }
  }

  setForm(fields: JsonObject): void {
    const upload = this.#request
    upload?.drop()
    this.#request = copyForm(fields, upload?.size ?? 0, upload?.contentType, this.#copies)
  }

  withholdResponses(): void {
    this.#withholdsResponses = true
  }

  watchAttempt<R extends CapturableRequest>(
    index: number,
    upstream: Upstream,
    request: R,
    transport: Transport,
  ): { readonly request: R; readonly transport: Transport } {
    const attempt = new WatchedAttempt(index, upstream)
    if (this.#attempts.length === maxAttempts) dropAttempt(this.#attempts.pop())
    this.#attempts.push(attempt)
    const isKept = (): boolean => !this.#isFinished && this.#attempts.includes(attempt)
    const { hosting } = request
    const toEvents = hosting?.toEvents?.bind(hosting)
    const watched: Transport = async (sent) => {
      if (isKept()) this.#copyRequest(attempt, request, sent)
      const response = await transport(sent)
      return isKept() ? this.#watchResponse(attempt, response, toEvents !== undefined) : response
    }
    if (transport.settlesOnAbort === true) Object.assign(watched, { settlesOnAbort: true as const })
    if (toEvents === undefined) return { request, transport: watched }
    // A host's own framing is binary: its events are copied instead.
    const events = (bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> => {
      if (!isKept()) return toEvents(bytes)
      attempt.response?.drop()
      attempt.response = this.#newResponse('text/event-stream')
      return watchChunks(toEvents(bytes), attempt.response)
    }
    return { request: { ...request, hosting: { ...hosting, toEvents: events } }, transport: watched }
  }

  watchStream(stream: ClientBytes, contentType: string): void {
    const response = this.#streamedResponse(contentType)
    const { take, heartbeat, fail } = stream
    const copied = <B extends Uint8Array | undefined>(bytes: B): B => {
      if (bytes !== undefined) response.append(bytes)
      return bytes
    }
    const copying: Pick<ClientBytes, 'take' | 'heartbeat' | 'fail'> = {
      take: () => copied(take.call(stream)),
      heartbeat: () => copied(heartbeat.call(stream)),
      fail: (error) => copied(fail.call(stream, error)),
    }
    Object.assign(stream, copying)
  }

  watchBytes(body: AsyncIterable<Uint8Array>, contentType: string): void {
    const response = this.#streamedResponse(contentType)
    const iterate = body[Symbol.asyncIterator].bind(body)
    const watched = (): AsyncIterator<Uint8Array> => watchIterator(iterate(), response)
    body[Symbol.asyncIterator] = watched
  }

  setReply({ body, headers }: Reply): void {
    if (this.#isStreamed || (typeof body !== 'string' && !(body instanceof Uint8Array))) return
    const type = headers['content-type']
    if (!this.#withholdsResponses) this.#response = copyBody(body, type, this.#copies)
    else {
      this.#response = this.#newResponse(type)
      this.#response.append(typeof body === 'string' ? new TextEncoder().encode(body) : body)
    }
  }

  finish(outcome: FinishEvent['outcome'], attempts: readonly Attempt[], isReported: boolean): void {
    if (this.#isFinished) return
    this.#isFinished = true
    queueMicrotask(() => {
      const isWhole = outcome === 'finished'
      this.#response?.end(!this.#isStreamed || isWhole)
      this.#request?.end(false)
      for (const { index, request, response } of this.#attempts) {
        request?.end(false)
        // A stream is whole with its terminal event. The end of its body may follow later.
        response?.end(isWhole && attempts[index]?.error === undefined)
      }
      const copiedBytes = this.#copiedBytes()
      this.#settings.memory.left += copiedBytes
      if (!isReported && this.#request === undefined) return
      const bodies = this.#bodies(copiedBytes + overheadBytes)
      for (const plugin of this.#settings.plugins)
        observe(this.#settings.logger, 'onBodies', () => plugin.onBodies?.(bodies), plugin)
    })
  }

  #bodies(heldBytes: number): CallBodies {
    return {
      requestId: this.#requestId,
      ...(this.#request === undefined ? {} : { request: this.#request }),
      ...(this.#response === undefined ? {} : { response: this.#response }),
      attempts: this.#attempts,
      heldBytes,
    }
  }

  #copiedBytes(): number {
    return [this.#request, this.#response, ...this.#attempts.flatMap(({ request, response }) => [request, response])]
      .map((body) => body?.heldBytes ?? 0)
      .reduce((sum, bytes) => sum + bytes, 0)
  }

  #streamedResponse(contentType: string): WatchedBody {
    this.#isStreamed = true
    this.#response = this.#newResponse(contentType)
    return this.#response
  }

  #newResponse(contentType: string | undefined): WatchedBody {
    return this.#withholdsResponses
      ? new WatchedBody('secret', contentType, this.#copies)
      : watchBody(contentType, this.#copies)
  }

  #copyRequest(attempt: WatchedAttempt, { lane }: CapturableRequest, sent: TransportRequest): void {
    const { url, headers, body } = sent
    this.#mask.addHeaders(headers)
    attempt.sentTo(url)
    const type = headers['content-type']
    if (body === undefined) return
    if (lane.form !== undefined) {
      const size = body instanceof Uint8Array ? body.length : Number(headers['content-length'] ?? 0)
      attempt.request = copyForm(lane.form, size, type, this.#copies)
    } else if (typeof body === 'string' || body instanceof Uint8Array)
      attempt.request = copyBody(body, type, this.#copies)
  }

  /** @param hasEvents a host's framing is decoded, and the events are copied instead of the stream */
  #watchResponse(attempt: WatchedAttempt, response: TransportResponse, hasEvents: boolean): TransportResponse {
    const copy = this.#newResponse(response.header('content-type'))
    attempt.response = copy
    const { status, resent, delimited } = response
    return {
      status,
      ...(resent === undefined ? {} : { resent }),
      ...(delimited === undefined ? {} : { delimited }),
      header: (name) => response.header(name),
      async bytes(limit, onData) {
        const bytes = await response.bytes(limit, onData)
        copy.append(bytes)
        copy.end(true)
        return bytes
      },
      stream: () => (hasEvents ? response.stream() : watchChunks(response.stream(), copy)),
      discard: () => response.discard(),
    }
  }
}

function dropAttempt(attempt: WatchedAttempt | undefined): void {
  attempt?.request?.drop()
  attempt?.response?.drop()
}

/** Copies the chunks of a stream as they pass. No generator: leaving one would wait for the pending chunk. */
const watchChunks = (stream: AsyncIterable<Uint8Array>, copy: WatchedBody): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => watchIterator(stream[Symbol.asyncIterator](), copy),
})

function watchIterator(source: AsyncIterator<Uint8Array>, copy: WatchedBody): AsyncIterator<Uint8Array> {
  return {
    async next() {
      const result = await source.next()
      if (result.done === true) copy.end(true)
      else if (result.value instanceof Uint8Array) copy.append(result.value)
      return result
    },
    return: async () => (await source.return?.()) ?? { done: true, value: undefined },
  }
}
