import type { Allowance, ErrorInfo } from '../base/errors.ts'
import type { Json, JsonObject, Member } from '../base/json/json.ts'
import type { Format, SharedFormat, UpstreamFormat } from '../base/names.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { Capabilities, ClientCapabilities, IsShown, UsageFields } from './capabilities.ts'
import type { BillableUnits, Effort, Loss, ModelRequest, ModelResponse, Report, Usage } from './ir.ts'
import type { ModelListCodec } from './model-list-codec.ts'
import type { Received } from './references/places.ts'
import type { ModelPlaces } from './shared/model-places.ts'
import type { RequestDefaults, ResponsePointers } from './shared/pointers.ts'
import type { StreamDecoder, StreamEncoder } from './stream-codec.ts'
import type { ModelRule, Quirks } from './target-traits.ts'

/** The changes of settings within a conversation that a target accepts. */
export interface AcceptedChanges {
  readonly effort?: boolean
  readonly format?: boolean
  readonly addedTools?: boolean
  readonly removedTools?: boolean
}

/** Flags of a header that lists them. */
export interface RequestFlags {
  /** In lower case. */
  readonly header: string
  readonly flags: readonly string[]
}

/** Services for a codec: loss report, ids and time. */
export interface CodecContext {
  readonly report: Report
  /** A new unique id with the given prefix (`call_`). */
  newId(prefix: string): string
  /** Seconds since 1970. */
  now(): number
  /** The upstream's format, if known: a decoder may then keep features that only that format has. Default: any. */
  readonly upstream?: UpstreamFormat
  /** Present if the gateway keeps the response for later requests (responses). */
  readonly kept?: KeptState
}

/** How the gateway keeps a response for later requests. */
export interface KeptState {
  /** The response that it continues. */
  readonly previous?: string
  /** Only the client's connection keeps it: it is not stored. */
  readonly inConnection?: true
}

/** Properties of a target, as data. Codecs read them instead of branching on a provider's name. */
export interface TargetTraits {
  /** The model's name at the upstream. */
  readonly model: string
  /** Departures of an upstream from the format it speaks. */
  readonly quirks: Quirks
  /** Settings that the model accepts, if known. */
  readonly modelRule?: ModelRule | undefined
  /** Set for pass-through if the upstream's host reads the client's form of bodies (`WireCodec.hostedBody`). */
  readonly hostedBody?: HostedBody | undefined
}

/** A form of bodies that a host of another vendor's models has in place of the vendor's own. `invoke`: that of Bedrock's InvokeModel. */
export type HostedBody = 'invoke'

/** Deviations of a client from other clients of its format. */
export interface ClientQuirks {
  /** An empty text in a response makes the client drop the whole turn (gemini). Chunks without a part are harmless. */
  readonly spoiledByEmptyText?: boolean
}

/** Names of the members, at any depth, that hold generated text: text, reasoning, arguments of calls. */
export interface TextFields {
  /** In a whole response. */
  readonly response: readonly string[]
  /** In a stream's events. */
  readonly event: readonly string[]
  /** A string that marks the events with new text. Default: every event may have some. */
  readonly mark?: string
}

/** Dotted paths of the fields that bound the output tokens (`fields`) and that state the number of responses (`countFields`). The largest value counts. */
export interface OutputBound {
  readonly fields: readonly string[]
  readonly countFields?: readonly string[]
}

/** Context for encoding and decoding a response: the request decides which parts the client is shown. */
export interface ExchangeContext extends CodecContext {
  readonly request: ModelRequest
  readonly target?: TargetTraits
  readonly client?: ClientQuirks | undefined
  /** Milliseconds since the request was written for the upstream. Default: 0. */
  elapsedMs?(): number
  /** Characters that an event of the client's stream may have. Default: any number. */
  readonly maxEventChars?: number
}

/** What codecs need for a response of a known target. */
export type ResponseContext = ExchangeContext & { readonly target: TargetTraits }

/** Data that pass-through reads from a whole response. */
export interface ResponseTap {
  usage?: Usage
  units?: BillableUnits
  finish?: string
  /** Ids of stored objects that the upstream made for this call, for later requests to refer to. */
  received?: readonly Received[]
  /** The body is an error in spite of a success status. */
  error?: ErrorInfo
}

/** Options of a stream tap. */
export interface TapOptions {
  readonly withholdUsage: boolean
  readonly target: TargetTraits
  /** The request's top-level fields. */
  readonly request?: JsonObject
  /** The provider stores the response: later requests may refer to it. */
  readonly storesResponse?: boolean
  readonly client?: ClientQuirks | undefined
}

/** Reads usage, ids and errors from a stream that passes through unchanged. Cheap, and never alters bytes. */
export interface StreamTap {
  /**
   * Reads one event. Returns `false` if the client must not get it: the gateway alone asked for it, the format's clients would not
   * recognise the error in it, or it would revoke a completed response.
   *
   * @throws GatewayError `upstream_bad_response` for an event that cannot be part of a response
   */
  push(event: SseEvent): boolean
  /** A real event (no ping, no comment, no empty preamble) was seen. */
  readonly started: boolean
  /** The format's own terminal event was seen. */
  readonly ended: boolean
  /** The stream's own error event, where one came. */
  readonly error: ErrorInfo | undefined
  /** Members whose texts or numbers are irrelevant to the tap. Absent: it needs every event. */
  readonly varyingMembers?: ReadonlySet<string>
  /** Events that differ from the last pushed one only in `varyingMembers` need not be pushed. */
  readonly canSkipSimilar?: boolean
  /** Reports that such events were skipped. `last` returns the data of the last one, until the next push. */
  onSkipped?(last: () => string): void
  /** An error arrived, and its terminal event is still to come. Until then `push` returns for each event whether it is that one. */
  readonly isFailing?: boolean
  readonly usage: Usage | undefined
  readonly units?: BillableUnits | undefined
  /** The format's finish reason, if one arrived. */
  readonly finish: string | undefined
  /** See ResponseTap. */
  readonly received?: readonly Received[] | undefined
  /**
   * Called at the end of input. Formats without a reliable terminal event decide here whether the stream has `ended`.
   *
   * @param complete see AnswerStream
   */
  end?(complete?: boolean): void
  /** Creates heartbeat and error events with the stream's own id and model, as StreamEncoder does. */
  heartbeat(): SseEvent[]
  fail(error: ErrorInfo): SseEvent[]
}

/**
 * A tap whose fields may be set: while it is built, and by operations that extend the tap of another format. A field that is set must be
 * a plain field: the compiler accepts a getter, which throws.
 */
export type MutableTap = { -readonly [K in keyof StreamTap]: StreamTap[K] }

/** Edits of a pass-through request, in addition to the model's name. */
export interface WireEdit {
  /** Top-level fields to set or replace. */
  set: JsonObject
  /** Top-level fields to remove, because the upstream would reject the call. */
  drop?: readonly string[]
  /** Features that the upstream still lacks, or implements in another way. */
  losses?: readonly Loss[]
  /** Header flags of the body that the upstream expects in the header. */
  flags?: RequestFlags
  /** The upstream stores the response, and later requests of the caller may refer to its id. */
  storesResponse?: true
  /**
   * The gateway requests usage that the client did not request. Events with nothing else are withheld, and this exact text is deleted
   * from all others (`,"usage":null`).
   */
  erase?: string
}

/**
 * The part of an upstream's format that every call needs, translated or not. It is small and loaded before the first call. The first call
 * that translates loads the rest.
 */
export interface UpstreamWireCodec {
  /** Fields of a request that ask for a tier with prices of its own, as paths. */
  readonly tierFields?: readonly string[]
  readonly format: UpstreamFormat
  /**
   * Decodes an upstream's error response in any form that providers use. `body` is a string if it is not JSON. Some providers name the
   * error in a header.
   */
  decodeError(status: number, body: Json, header?: (name: string) => string | undefined): ErrorInfo
  /** Returns whether a JSON body with a success status is a response of this format, rather than an error. */
  isResponse(body: JsonObject): boolean
  /** Returns the error of a body that also holds a response, as an error body. Default: none. */
  errorWithin?(body: JsonObject): JsonObject | undefined
  /** Reads usage, finish reason and error from a whole response. May throw: only accounting and errors with a success status depend on it. */
  tapResponse(body: JsonObject): ResponseTap
  /**
   * Set if the URL holds model and stream flag: the path endings for a whole response and a stream, with `{model}` or `{id}` for the
   * model's name. The route handler copies both into the body for the decoder; encoders write neither.
   */
  readonly modelInPath?: { readonly whole: string; readonly stream: string }
  /** Members with generated text, for token estimates of responses without usage. */
  readonly textFields: TextFields
  /** Finish reasons of responses that are not complete yet: their usage is unknown. */
  readonly pendingFinishes?: readonly string[]
}

/**
 * The part of a client's format that every call needs, errors above all. It is small, and the format's first call loads it. The first call
 * that translates loads the rest.
 */
export interface ClientWireCodec {
  readonly format: Format
  /** Returns the codec's `checkRequest`, without a promise once it is loaded. */
  loadRequestCheck(): ClientCodec['checkRequest'] | Promise<ClientCodec['checkRequest']>
  /** Returns the encoders of model lists, without a promise once they are loaded. */
  loadModelList(): ModelListCodec | Promise<ModelListCodec>
  encodeError(
    error: ErrorInfo,
    requestId: string,
  ): { status: number; headers?: Record<string, string>; body: JsonObject }

  /** Members with generated text, for token estimates of responses without usage. */
  readonly textFields: TextFields
  /** The header in which clients of the format look for the call's id, in addition to those of every response. */
  readonly requestIdHeader?: string
  /** Prefix that clients may write before a model name that the body repeats from the path. Default: none. */
  readonly modelPrefix?: string
  /** The format's message for a member of the body that the path states. Default: a member with the path's value is accepted. */
  unknownMember?(name: string): string
  /** The members of requests, counts of tokens included, that name or choose a model. */
  readonly modelPlaces: ModelPlaces
  /** Clients of this format fail on comments in an event stream. */
  readonly refusesComments?: boolean
  /** Recognises clients that need another form of response, by their headers. Absent: there are none. */
  clientQuirks?(header: (name: string) => string | undefined): ClientQuirks | undefined

  /**
   * Fields that identify a conversation, for routing to the same prompt cache: `keys` name a session or cache; otherwise the beginning of
   * the prompt counts: the fields `tools` and `prefix`, and the `turns` up to the first one of the user.
   */
  readonly affinity?: {
    readonly keys: readonly string[]
    readonly tools?: string
    readonly prefix: readonly string[]
    readonly turns: string
  }

  /**
   * Top-level fields that make the upstream store a conversation under the call's credential. All such calls of one caller go to the same
   * target and key, as far as the plan's order allows.
   */
  readonly statefulFields?: readonly string[]
  /** Top-level fields that, if true, let the upstream continue after its response: usage is known only later. */
  readonly backgroundFields?: readonly string[]
  readonly outputBound: OutputBound
  /** Absent: every request needs a model. */
  readonly loadResponseWithoutModel?: () => ResponseWithoutModel | Promise<ResponseWithoutModel>
  /** The dialect of the format, if it has other bodies than the format's own (see `codecDialects`). */
  readonly dialect?: CodecDialect
  /** Encodes the caller's remaining limits as headers. `now`: milliseconds since 1970. */
  encodeAllowance(allowance: Allowance, now: number): Record<string, string>
}

/** The part of a shared format that every call needs: both halves, and pass-through. */
export interface WireCodec extends ClientWireCodec, UpstreamWireCodec {
  readonly format: SharedFormat
  /** Loads the code that `wireEdit` needs for a target; undefined if it needs none. */
  prepareWireEdit?(target: TargetTraits): Promise<unknown> | undefined
  /** Returns the edits that a pass-through body needs, in addition to the model's name. */
  wireEdit(body: JsonObject, target: TargetTraits): WireEdit | undefined
  tapStream(options: TapOptions): StreamTap
  /** The form of the client's bodies, if it is that of a host. An upstream with the same form gets them unchanged. */
  readonly hostedBody?: HostedBody
}

/**
 * The upstream half of a codec; formats that no client speaks have only this half. Pure and synchronous, without streams, clocks or
 * fetch: lanes and router do all I/O.
 */
export interface UpstreamCodec extends UpstreamWireCodec {
  /** Returns the changes within a conversation that the target accepts. Absent: none. */
  acceptedChanges?(target: TargetTraits): AcceptedChanges
  /** Returns the header flags that a translated body needs. They are added to the client's flags. */
  requestFlags?(body: JsonObject): RequestFlags | undefined
  encodeRequest(request: ModelRequest, context: CodecContext & { readonly target: TargetTraits }): JsonObject
  /** Decodes leniently; throws GatewayError `upstream_bad_response` if the body is no response at all. */
  decodeResponse(body: Json, context: ExchangeContext): ModelResponse
  /** `end()` without the format's own terminal event yields an `upstream_truncated` error, never an ending. Nothing follows an error. */
  decodeStream(context: ExchangeContext & { readonly target: TargetTraits }): StreamDecoder
  /** JSON Pointers of IR request fields in this format's body, for loss reports (`sampling.maxTokens` → `/max_tokens`). */
  readonly fieldPointers: { readonly [irField: string]: string }
  /** The same for responses. */
  readonly responsePointers: ResponsePointers
  /** The fields of the format's usage objects: those that a client is not shown are reported. */
  readonly usageFields: UsageFields
  /** Returns JSON Pointers to the members of a usage object that the client is not shown. Default: by `usageFields`. */
  unshownUsage?(usage: JsonObject, isShown: IsShown): readonly string[]
}

/**
 * Returns the response to a request that concerns a model, but asks it nothing: no upstream is called. Undefined for other requests.
 * `now`: seconds since 1970.
 */
export type ResponseWithoutModel = (body: JsonObject, now: number) => JsonObject | undefined

/** A dialect of a format: the same errors, settings and meaning, with another form of requests and responses. */
export type CodecDialect = 'ollama-generate'

/** The client half of a codec; formats that no upstream speaks have only this half. Pure and synchronous, as `UpstreamCodec`. */
export interface ClientCodec extends ClientWireCodec {
  /**
   * Checks any request body from a client, whatever its target: what the gateway itself reads, and the specification's required
   * fields and limits (docs/decisions/0031). Returns the same object, throws GatewayError with `param` otherwise.
   */
  checkRequest(body: Json): JsonObject
  /**
   * Checks a request body that is to be translated: in addition, the types and values that the decoder knows, in the provider's own
   * wording. Unknown fields are kept. Returns and throws as `checkRequest` does.
   */
  validateRequest(body: Json): JsonObject
  decodeRequest(body: JsonObject, context: CodecContext): ModelRequest
  encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject
  encodeStream(context: ExchangeContext): StreamEncoder
  /** Pointer of the turn whose text responses repeat. Absent: they repeat none. */
  readonly repeatedTurn?: string

  /** Token counting; absent if the format has no endpoint for it. */
  readonly count?: CountCodec

  /** Efforts that clients of this format may request; others are approximated. */
  readonly efforts: readonly Effort[]
  /** The client's half of `Codec.capabilities`. */
  readonly capabilities: ClientCapabilities
  /** Documented defaults of request fields. Leaving out a default value is never a loss. */
  readonly defaults: RequestDefaults
  /** JSON Pointers of IR request fields in this format's body, for loss reports (`sampling.maxTokens` → `/max_tokens`). */
  readonly fieldPointers: { readonly [irField: string]: string }
  /** Many clients of the format send back no field of a call that could hold a seal: short seals go into the call's id. */
  readonly sealsInCallIds?: boolean
}

/** The codec of a shared format: both halves. */
export interface Codec extends ClientCodec, UpstreamCodec, WireCodec {
  readonly format: SharedFormat
  /** Support for each feature of requests and responses. Documentation and routing are generated from it. */
  readonly capabilities: Capabilities
}

/** The number of input tokens of a request. */
export interface TokenCount {
  tokens: number
  /** The cached part of `tokens`, if the upstream reports it. */
  cached?: number
}

/** Codec of a format's endpoint for token counts. Pure and synchronous. */
export interface CountCodec {
  /** Checks the body of a count as `Codec.checkRequest` does. */
  checkRequest(body: Json): JsonObject
  /** Checks the body of a count as `Codec.validateRequest` does. */
  validateRequest(body: Json): JsonObject
  /** Returns the request to be counted, in the form that `decodeRequest` reads, and the JSON Pointer to it in the body. */
  toGeneration(body: JsonObject): { readonly body: JsonObject; readonly at: string }
  /** Returns a generation's body for the counting endpoint, without the fields that are no input. */
  fromGeneration(body: JsonObject, model: string): JsonObject
  /** Returns undefined for a response without a count. */
  decode(answer: JsonObject): TokenCount | undefined
  encode(count: TokenCount): JsonObject
  /**
   * Returns the JSON text of a request in the format of a model's vendor, if the body holds one instead of a request in this format. Throws
   * GatewayError for a text that cannot be read. Absent: bodies hold no such requests.
   */
  vendorRequest?(body: JsonObject): string | undefined
  /** Fields that refer to input stored by a provider, which only that provider can count. */
  readonly storedFields: readonly string[]
  /** Path ending for a format that names the model in the path: `{model}` stands for the name. */
  readonly pathEnding?: string
  /** Pass-through: replaces a model name below the top level, and leaves every other character. */
  rename?(text: string, members: readonly Member[], requested: string, model: string): string
}
