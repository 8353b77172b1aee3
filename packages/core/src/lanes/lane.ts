import type { Signal } from '../base/async.ts'
import type { ErrorInfo, GatewayError } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { Logger } from '../config/config.ts'
import type { OnLoss } from '../config/identity.ts'
import type { Limits } from '../config/limits.ts'
import type { MediaPolicy } from '../config/media-policy.ts'
import type { ReferencePolicy } from '../config/references.ts'
import type { ClientQuirks, ClientWireCodec, KeptState, RequestFlags, UpstreamWireCodec } from '../formats/codec.ts'
import type { BillableUnits, Report, Usage } from '../formats/ir.ts'
import type { Received } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Framing } from '../http/framing/framing.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import type { Hosting } from '../upstreams/upstream.ts'

/**
 * Writes a call's request for its targets. Each kind of call has one: generation, model operations, token counts, realtime
 * sessions. It chooses the upstream's endpoint and the lane.
 */
export interface RequestWriter {
  /**
   * Returns a promise only where something has to be loaded or read first. Throws or rejects with a GatewayError if the target
   * cannot be sent the request.
   */
  write(target: ResolvedTarget, policy: OnLoss): TargetRequest | Promise<TargetRequest>
}

/** A request written for one target. */
export interface TargetRequest {
  readonly lane: Lane
  readonly url: string
  /** Decodes the upstream's errors. */
  readonly codec: Pick<UpstreamWireCodec, 'decodeError' | 'isResponse'>
  readonly hosting?: Hosting | undefined
  /** Present for a GET that asks for a WebSocket: only 101 is a good response, and these are its headers. */
  readonly upgrade?: { headers(key: number | undefined): Readonly<Record<string, string>> }
  /** The target's `defaults` and `overrides` do not apply: the request generates nothing. */
  readonly ignoresOverrides?: boolean
  /** See TransportRequest. */
  readonly webSocket?: boolean
  /** The body before the target's `defaults` and `overrides`. Absent: they changed nothing. */
  readonly clientBody?: Lane['body']
}

/** The body of one attempt, and the reading of its response: the client's own bytes, or a translation. */
export interface Lane {
  readonly kind: 'wire' | 'translate'
  /** Absent for dialects of model operations. */
  readonly upstreamFormat?: UpstreamFormat | undefined
  /** The request's body. Each attempt iterates an iterable from its start. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>
  /** The fields of an upload: its body is not JSON. */
  readonly form?: JsonObject | undefined
  /** Headers that belong to the body, in place of those of a JSON body. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Flags of a header that the body needs, in addition to the client's. */
  readonly flags?: RequestFlags | undefined
  /** The model accepts more of this request in another format: the lane is taken only if the upstream has no other one. */
  readonly restricted?: boolean | undefined
  /** Losses of the request and of its response. It grows while the response is translated. */
  readonly report: Report
  /** Turns a whole response into the client's. Throws GatewayError `upstream_bad_response` if it is none. */
  readResponse(bytes: Uint8Array): WholeResponse
  /** Loads the code that `openStream` needs. Returns undefined once it has been loaded. Absent: the lane needs none. */
  loadStream?(): Promise<unknown> | undefined
  openStream(): ResponseStream
  /** The tier with prices of its own that the body asks for. */
  readonly tier?: string | undefined
  /** The body is in the form that the upstream's host reads, and needs none of its edits. */
  readonly isHosted?: boolean | undefined
  /** The stream reads the upstream's binary frames. Default: server-sent events, to which the hosting converts them. */
  readonly readsFrames?: boolean | undefined
  /**
   * Accepts a response that is neither JSON nor events: its bytes pass under the upstream's content type. `media` rejects text, which
   * is then an upstream's error message.
   */
  readonly passes?: 'any' | 'media' | undefined
  /**
   * Turns a whole response into the events that a streaming client waits for. Throws as `readResponse` does. Absent: a whole
   * response to a streaming call is an error.
   */
  asEvents?: ((bytes: Uint8Array) => Uint8Array) | undefined
  /**
   * Returns the client's name of a field that an upstream's error names; undefined if the client's request has no such field. Absent:
   * the names are the same.
   */
  clientParam?: ((param: string) => string | undefined) | undefined
}

/** A whole response, as the client gets it. */
export interface WholeResponse {
  readonly body: string | Uint8Array
  /** Default: JSON. */
  readonly contentType?: string
  readonly usage?: Usage
  readonly units?: BillableUnits
  readonly finish?: string
  /** See ResponseTap. */
  readonly received?: readonly Received[]
}

/** The state of a streamed response so far. */
export interface StreamState {
  /** A real event has arrived: from here on no other target can be tried. */
  readonly started: boolean
  /** The upstream's own terminal event has arrived: only then is the response whole. */
  readonly ended: boolean
  /** The upstream's own error event. It has been passed on. */
  readonly error: ErrorInfo | undefined
  readonly usage: Usage | undefined
  readonly units?: BillableUnits | undefined
  readonly finish: string | undefined
  /** See ResponseTap. */
  readonly received?: readonly Received[] | undefined
}

/** One streamed response: upstream bytes in, client bytes out. No clock and no I/O. */
export interface ResponseStream {
  readonly state: StreamState
  push(chunk: Uint8Array): void
  /**
   * Ends the input: the upstream's bytes are complete, or no more are read.
   *
   * @param complete the end of the body is marked, so that it is not truncated. Default: false
   */
  end(complete?: boolean): void
  /** Returns the client's bytes that have become ready since the last call. */
  take(): Uint8Array | undefined
  /** Estimates the output tokens so far, for upstreams that report no usage. */
  estimatedTokens?(): number
  /** Returns bytes that keep a silent stream alive. */
  heartbeat(): Uint8Array
  /** Returns bytes that report, in the client's format, that the response failed here. */
  fail(error: ErrorInfo): Uint8Array
}

/** The media policy of a call, with what fetching needs. */
export interface MediaFetching {
  readonly policy: MediaPolicy
  /** Most bytes of media in one call's request to an upstream, unless the policy sets a limit. */
  readonly maxTotalBytes: number
  /** The call's signal: a client that disconnects ends the fetches. */
  readonly signal: Signal
  readonly logger: Logger
  readonly limits: Pick<Required<Limits>, 'callbackMs' | 'firstByteMs'>
}

/** A generation request, and what its lanes depend on. */
export interface Generation {
  /** The client's. */
  readonly codec: ClientWireCodec
  readonly request: RequestBody
  readonly stream: boolean
  /** The framing of the client's stream. Absent: server-sent events. */
  readonly framing?: Framing | undefined
  readonly client?: ClientQuirks | undefined
  readonly limits: Required<Limits>
  readonly references: ReferencePolicy
  /** See CodecContext. */
  readonly kept?: KeptState | undefined
  /** Fetches media that the request names by URL. Absent: the URLs are sent. */
  readonly media?: MediaFetching | undefined
  /** Which upstreams may be sent the request's references to stored state. Absent: all. */
  readonly stored?: StoredState | undefined
}

/** Limits on the targets of a request that refers to stored state. */
export interface StoredState {
  /** The only upstream that knows what the request refers to. */
  readonly onlyUpstream?: string | undefined
  /** The only upstream that has an object to which the request refers, and the error for all others. */
  readonly holder?: { readonly upstream: string; readonly refusal: GatewayError } | undefined
  /** Rejects upstreams of another format: they know nothing of what the request refers to. */
  readonly unknown?: GatewayError | undefined
  /** Rejects upstreams of the same format: they might read an item's id as a reference to another caller's. */
  readonly notOwned?: GatewayError | undefined
}

/** Returns whether a body may contain a URL. An escaped one is not found: it is passed on, as without a policy. */
export const mayNameMedia = ({ text }: RequestBody): boolean => /https?:/i.test(text)
